import { setImmediate } from 'node:timers/promises';
import { errorMessage } from '@flotilla/api';
import type { Release } from '@flotilla/api/config';
import { ReleaseError, ReleaseErrorCode } from '../errors.ts';
import { type ImageReferences, parseImageReferences } from './image-references.ts';
import { invalidPayload, type PayloadFile, type PayloadLayout, PayloadPath, readLayout } from './layout.ts';
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
  { releaseImage, clusterProfile, source = releaseImage, signal }: LoadPayloadOptions,
): Promise<Payload> {
  const layout = await readLayout(files);
  const { release, problems } = readMetadata(layout);
  const imageReferences = parseImageReferences(layout.imageReferences.content, releaseImage, { least: 0 });
  if (imageReferences.version !== release.version)
    throw invalidPayload(
      `is not of one release: version from image-references (${imageReferences.version ?? ''}) differs from release-metadata (${release.version})`,
      'use both files of the same release',
    );
  const images = new Map(imageReferences.images.filter(({ kind }) => kind === 'DockerImage').map(({ name, pullSpec }) => [name, pullSpec]));
  const { manifests, warnings } = await readManifests(layout, { releaseImage, clusterProfile, images }, { source, signal });
  return {
    release: { ...release, image: releaseImage },
    imageReferences,
    manifests,
    warnings: [...problems.map((problem) => `${PayloadPath.metadata}: ${problem}`), ...warnings],
  };
}

function readMetadata({ metadata }: PayloadLayout): ReleaseMetadata {
  try {
    return parseReleaseMetadata(metadata.content);
  } catch (cause) {
    throw invalidPayload(`cannot be used: ${metadata.path}: ${errorMessage(cause)}`, 'correct the file', cause);
  }
}

/** Time for which loading keeps the event loop unless a single file takes longer, milliseconds. */
const TURN_MS = 25;

async function readManifests(
  layout: PayloadLayout,
  values: TemplateValues,
  { source, signal }: { source: string; signal: AbortSignal | undefined },
): Promise<Pick<Payload, 'manifests' | 'warnings'>> {
  const manifests: Manifest[] = [];
  const warnings: string[] = [];
  const failures = new Map<string, string>();
  let turn = performance.now();
  for (const { path, content } of layout.manifests) {
    try {
      manifests.push(...parseManifests(path, path.startsWith(`${PayloadPath.own}/`) ? fillIn(content, values) : content));
    } catch (error) {
      if (error instanceof TemplateError) warnings.push(`${path} is passed over: ${error.message}`);
      else failures.set(path, errorMessage(error));
    }
    if (performance.now() - turn < TURN_MS) continue;
    await setImmediate();
    signal?.throwIfAborted();
    turn = performance.now();
  }
  if (failures.size > 0) throw unusable(source, failures);
  return { manifests, warnings };
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
