import { errorMessage } from '@flotilla/api';
import { quoted } from '../errors.ts';
import { IMAGE_REFERENCES_PATH, parseImageReferences } from '../payload/image-references.ts';
import { isPayloadPath, manifestPaths, type PayloadFile, PayloadPath, payloadLimits } from '../payload/layout.ts';
import { type Manifest, parseManifests } from '../payload/manifest.ts';
import { parseReleaseMetadata } from '../payload/metadata.ts';
import { renderTemplate, TemplateError } from '../payload/template.ts';
import type { Finding, LintRule, LintSource } from './source.ts';

/** Reads as much of a payload as can be read; what cannot becomes a finding. */
export async function readSource(
  files: Iterable<PayloadFile> | AsyncIterable<PayloadFile>,
): Promise<{ readonly source: LintSource; readonly findings: readonly Finding[] }> {
  const reading = new SourceReading();
  for await (const file of files) reading.take(file);
  return reading.finish();
}

class SourceReading {
  readonly #files = new Map<string, Uint8Array>();
  readonly #findings: Finding[] = [];
  #bytes = 0;

  take({ path, content }: PayloadFile): void {
    if (!isPayloadPath(path)) return;
    if (this.#files.has(path)) return this.#error('layout', path, 'the file is there twice; keep one of them');
    if (content.byteLength > payloadLimits.fileBytes)
      return this.#error('layout', path, `the file has ${content.byteLength} bytes, at most ${payloadLimits.fileBytes} are read; split it`);
    this.#bytes += content.byteLength;
    const isTooMuch = this.#files.size >= payloadLimits.files || this.#bytes > payloadLimits.totalBytes;
    if (!isTooMuch) this.#files.set(path, content);
    else if (!this.#findings.some(({ message }) => message.startsWith('the payload has more')))
      this.#error(
        'layout',
        path,
        `the payload has more than ${payloadLimits.files} files or ${payloadLimits.totalBytes} bytes; the rest is not read`,
      );
  }

  finish(): { source: LintSource; findings: readonly Finding[] } {
    for (const folder of [PayloadPath.own, PayloadPath.release])
      if (![...this.#files.keys()].some((path) => path.startsWith(`${folder}/`)))
        this.#error('layout', folder, `the folder is missing or empty; a release holds ${PayloadPath.own}/ and ${PayloadPath.release}/`);
    const version = this.#readMetadata();
    const images = this.#readImages(version);
    const texts = new Map<string, string>();
    const manifests = manifestPaths([...this.#files.keys()]).flatMap((path) => this.#readManifests(path, { texts, images }));
    return { source: { manifests, texts, version }, findings: this.#findings };
  }

  #readMetadata(): string | undefined {
    const content = this.#needed(PayloadPath.metadata);
    if (!content) return undefined;
    try {
      const { release, problems } = parseReleaseMetadata(content);
      for (const problem of problems)
        this.#add({ level: 'warning', rule: 'metadata', file: PayloadPath.metadata, line: 1, message: problem });
      return release.version;
    } catch (error) {
      this.#error('metadata', PayloadPath.metadata, errorMessage(error));
      return undefined;
    }
  }

  #readImages(version: string | undefined): ReadonlyMap<string, string> | undefined {
    const content = this.#needed(IMAGE_REFERENCES_PATH);
    if (!content) return undefined;
    try {
      const references = parseImageReferences(content, 'the payload', { least: 0 });
      if (version !== undefined && references.version !== version)
        this.#error(
          'metadata',
          IMAGE_REFERENCES_PATH,
          `version from image-references (${references.version ?? ''}) differs from release-metadata (${version}); use both files of the same release`,
          lineOf(textOf(content), '"name"'),
        );
      return new Map(references.images.map(({ name, pullSpec }) => [name, pullSpec]));
    } catch (error) {
      this.#error('metadata', IMAGE_REFERENCES_PATH, errorMessage(error));
      return undefined;
    }
  }

  #needed(path: string): Uint8Array | undefined {
    const content = this.#files.get(path);
    if (!content) this.#error('layout', path, 'the file is missing: a release cannot be loaded without it');
    return content;
  }

  #readManifests(
    path: string,
    { texts, images }: { texts: Map<string, string>; images: ReadonlyMap<string, string> | undefined },
  ): Manifest[] {
    const text = textOf(this.#files.get(path) ?? new Uint8Array());
    texts.set(path, text);
    try {
      const rendered = path.startsWith(`${PayloadPath.own}/`) ? this.#render(path, text, images) : text;
      return parseManifests(path, new TextEncoder().encode(rendered));
    } catch (error) {
      const message = errorMessage(error);
      if (error instanceof TemplateError)
        this.#add({
          level: 'warning',
          rule: 'template',
          file: path,
          line: lineIn(message),
          message: `the file is passed over: ${message}`,
        });
      else if (message.startsWith('duplicate resource'))
        this.#error('duplicate', path, `${message}; a payload with it is not loaded`, secondLineOf(text, message));
      else this.#error('manifest', path, `${message}; a payload with it is not loaded`, lineIn(message));
      return [];
    }
  }

  #render(path: string, text: string, images: ReadonlyMap<string, string> | undefined): string {
    for (const [all, quotedName, plainName] of text.matchAll(/\{\{-?\s*(?:index\s+\.Images\s+"([^"\\]*)"|\.Images\.([\w.]+))/g)) {
      const name = quotedName ?? plainName ?? '';
      if (images && !images.has(name))
        this.#error('template', path, `the template names the image ${quoted(name)}, which image-references has not`, lineOf(text, all));
    }
    const values = { releaseImage: 'release.invalid/release', clusterProfile: 'self-managed-high-availability' };
    return renderTemplate(text, { ...values, images: images ?? new Map() });
  }

  #error(rule: LintRule, file: string, message: string, line = 1): void {
    this.#add({ level: 'error', rule, file, line, message });
  }

  #add(finding: Finding): void {
    this.#findings.push(finding);
  }
}

const textOf = (content: Uint8Array): string => new TextDecoder('utf-8', { ignoreBOM: true }).decode(content);

const lineIn = (message: string): number => Number(/\bline (\d+)/.exec(message)?.[1] ?? 1);

function lineOf(text: string, part: string): number {
  const at = text.indexOf(part);
  return at < 0 ? 1 : text.slice(0, at).split('\n').length;
}

/** Line of the second place that names the object a message is about. */
function secondLineOf(text: string, message: string): number {
  const name = /Name: ("(?:[^"\\]|\\.)*")/.exec(message)?.[1];
  if (name === undefined) return 1;
  const bare = name.slice(1, -1);
  const places = text.split('\n').flatMap((line, index) => (line.includes('name') && line.includes(bare) ? [index + 1] : []));
  return places[1] ?? places[0] ?? 1;
}
