import { setImmediate } from 'node:timers/promises';
import { errorMessage } from '@flotilla/api';
import type { Release } from '@flotilla/api/config';
import { ReleaseError, ReleaseErrorCode } from '../errors.ts';
import { type ImageReferences, parseImageReferences } from './image-references.ts';
import { type OnProblem, type PayloadFile, PayloadPath, readLayout } from './layout.ts';
import { type Manifest, parseManifests } from './manifest.ts';
import { parseReleaseMetadata, type ReleaseMetadata } from './metadata.ts';
import { renderTemplate, TemplateError, type TemplateValues } from './template.ts';

interface LoadPayloadOptions {
  /** Pull spec it was asked for by; fills in the operator's own manifests. */
  readonly releaseImage: string;
  /** Profile of the cluster; fills in the operator's own manifests. */
  readonly clusterProfile: string;
  /** Where its files are from, for messages; default: the release image. */
  readonly source?: string;
  readonly signal?: AbortSignal;
}

/** A release payload, everything in it. */
export interface Payload {
  readonly release: Release;
  readonly imageReferences: ImageReferences;
  /** Every manifest in load order; which of them are applied is for the filters to say. */
  readonly manifests: readonly Manifest[];
  /** Parts that were passed over, with the reasons: templates that an older operator does not understand, metadata of the wrong shape. */
  readonly warnings: readonly string[];
}

/**
 * Loads a payload from its files, in whatever order they come: of a folder, or of an image's layers. Between files others have their turn.
 * @throws ReleaseError `FLOTILLA_PAYLOAD_INVALID`, which names every file that cannot be used, or `FLOTILLA_IMAGE_REFERENCES_INVALID`
 */
export async function loadPayload(
  files: Iterable<PayloadFile> | AsyncIterable<PayloadFile>,
  { source, ...options }: LoadPayloadOptions,
): Promise<Payload> {
  const { releaseImage } = options;
  const warnings: string[] = [];
  const failures = new Map<string, string>();
  const { release, imageReferences, manifests } = await readPayload(files, {
    ...options,
    onProblem: ({ level, rule, path, message, cause }) => {
      if (cause instanceof ReleaseError) throw cause;
      if (level === 'warning') warnings.push(rule === 'template' ? `${path} is passed over: ${message}` : `${path}: ${message}`);
      else if (rule === 'manifest') failures.set(path, message);
      else {
        const text = rule === 'layout' ? message : `the payload cannot be used: ${path}: ${message}; correct the file`;
        throw new ReleaseError(ReleaseErrorCode.payloadInvalid, text, { cause });
      }
    },
  });
  if (failures.size > 0) throw unusable(source ?? releaseImage, failures);
  if (!release || !imageReferences) throw new Error('a payload without its release has no problem');
  return { release: { ...release, image: releaseImage }, imageReferences, manifests, warnings };
}

/** A payload as far as it can be read. */
interface ReadPayload extends Pick<Payload, 'manifests'> {
  readonly release: ReleaseMetadata['release'] | undefined;
  readonly imageReferences: ImageReferences | undefined;
  /** Files of manifests as they are, templates not filled in. */
  readonly files: readonly PayloadFile[];
  /** Images that templates may name. */
  readonly images: ReadonlyMap<string, string>;
}

interface ReadOptions extends Omit<LoadPayloadOptions, 'source'> {
  /** Throws to end the reading, or takes the problem. */
  readonly onProblem: OnProblem;
}

/** Reads as much of a payload as can be read. */
export async function readPayload(
  given: Iterable<PayloadFile> | AsyncIterable<PayloadFile>,
  { releaseImage, clusterProfile, onProblem, signal }: ReadOptions,
): Promise<ReadPayload> {
  const { manifests: files, ...layout } = await readLayout(given, onProblem);
  const problem = { level: 'error', rule: 'metadata', path: PayloadPath.metadata } as const;
  /** Content of a file; undefined where that cannot be read. */
  const read = <T>(file: PayloadFile | undefined, parse: (content: Uint8Array) => T): T | undefined => {
    try {
      return file && parse(file.content);
    } catch (cause) {
      onProblem({ ...problem, path: file?.path ?? '', message: errorMessage(cause), cause });
      return undefined;
    }
  };
  const metadata = read(layout.metadata, parseReleaseMetadata);
  for (const message of metadata?.problems ?? []) onProblem({ ...problem, level: 'warning', message });
  const imageReferences = read(layout.imageReferences, (content) => parseImageReferences(content, releaseImage, { least: 0 }));
  const [version, other] = [metadata?.release.version, imageReferences?.version ?? ''];
  if (version !== undefined && imageReferences && other !== version) {
    const message = `version from image-references (${other}) differs from release-metadata (${version}); use both files of the same release`;
    const line = lineOf(new TextDecoder().decode(layout.imageReferences?.content), '"name"');
    onProblem({ ...problem, path: PayloadPath.imageReferences, message, line });
  }
  const components = imageReferences?.images.filter(({ kind }) => kind === 'DockerImage') ?? [];
  const images = new Map(components.map(({ name, pullSpec }) => [name, pullSpec]));
  const manifests = await readManifests(files, { releaseImage, clusterProfile, images }, { onProblem, signal });
  return { release: metadata?.release, imageReferences, manifests, files, images };
}

/** The line of a text in which a part of it stands; the first where it does not. */
export function lineOf(text: string, part: string): number {
  const at = text.indexOf(part);
  return at < 0 ? 1 : text.slice(0, at).split('\n').length;
}

/** Time for which loading keeps the event loop unless a single file takes longer, milliseconds. */
const TURN_MS = 25;

async function readManifests(
  files: readonly PayloadFile[],
  values: TemplateValues,
  { onProblem, signal }: Pick<ReadOptions, 'onProblem' | 'signal'>,
): Promise<Manifest[]> {
  const manifests: Manifest[] = [];
  let turn = performance.now();
  for (const { path, content } of files) {
    try {
      manifests.push(...parseManifests(path, path.startsWith(`${PayloadPath.own}/`) ? fillIn(content, values) : content));
    } catch (error) {
      const message = errorMessage(error);
      if (error instanceof TemplateError) onProblem({ level: 'warning', rule: 'template', path, message });
      else onProblem({ level: 'error', rule: 'manifest', path, message });
    }
    if (performance.now() - turn < TURN_MS) continue;
    await setImmediate();
    signal?.throwIfAborted();
    turn = performance.now();
  }
  return manifests;
}

function fillIn(content: Uint8Array, values: TemplateValues): Uint8Array {
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(content);
  return new TextEncoder().encode(renderTemplate(text, values));
}

/** Named in a message; more are counted. */
const MOST_NAMED = 20;

function unusable(source: string, failures: ReadonlyMap<string, string>): ReleaseError {
  const texts = [...failures].map(([path, why]) => `parse ${path}: ${why}`);
  const shown = texts.slice(0, MOST_NAMED);
  if (texts.length > shown.length) shown.push(`and ${texts.length - shown.length} more`);
  const aggregate = shown.length === 1 ? (shown[0] ?? '') : `[${shown.join(', ')}]`;
  const message = `Error loading manifests from ${source}: ${aggregate}; correct these files`;
  return new ReleaseError(ReleaseErrorCode.payloadInvalid, message);
}

const PRIME_LOW = 0x1b3;

/**
 * Hash of the manifests that are applied, for display: FNV-1 of 64 bits over their JSON texts in order, as base64 for URLs.
 */
export function payloadHash(manifests: Iterable<{ readonly raw: string }>): string {
  let [high, low] = [0xcbf29ce4, 0x84222325];
  const encoder = new TextEncoder();
  for (const { raw } of manifests)
    for (const byte of encoder.encode(raw)) {
      // times 2^40 + 0x1b3, in halves of 32 bits
      const product = low * PRIME_LOW;
      high = (high * PRIME_LOW + Math.floor(product / 2 ** 32) + low * 256) >>> 0;
      low = ((product >>> 0) ^ byte) >>> 0;
    }
  const bytes = Buffer.alloc(8);
  bytes.writeUInt32BE(high, 0);
  bytes.writeUInt32BE(low, 4);
  return bytes.toString('base64').replaceAll('+', '-').replaceAll('/', '_');
}
