import { errorMessage, foreign } from '@flotilla/api';
import type { Logger } from '@flotilla/runtime';
import { freeBytes } from '@flotilla/software';
import { parseDocument } from 'yaml';
import { z } from 'zod';
import type { Config } from '../config.ts';
import { NoSpaceError } from '../errors.ts';
import { readBounded } from '../small-file.ts';

/** The file system that holds a store. */
export interface StoreUsage {
  /** Measured path, for messages. */
  readonly path: string;
  readonly sizeBytes: number;
  readonly usedBytes: number;
  /** Writable bytes: less than size minus used where blocks are reserved or a quota applies. */
  readonly availableBytes: number;
}

const GIB = 2 ** 30;

/**
 * Checks the space as spec/talm 4.7 does: available is `threshold` percent of the size less the used bytes, because the kubelet removes unused images
 * above the threshold. It never exceeds the writable bytes. Without a requirement some space must be left.
 * @throws NoSpaceError with the figures
 */
export function requireSpace(usage: StoreUsage, required: number, thresholdPercent: number): void {
  const available = freeBytes(usage, thresholdPercent);
  if (required > 0 ? available >= required : available > 0) return;
  throw new NoSpaceError(
    `not enough space for precaching: ${usage.path} has ${gib(usage.sizeBytes)}, ${gib(usage.usedBytes)} of it used; below the kubelet's image ` +
      `garbage collection threshold of ${thresholdPercent} % ${gib(Math.max(0, available))} are available and ${gib(required)} are required; ` +
      'free space on the node, or lower spaceRequired if it is more than the images take',
  );
}

const gib = (bytes: number): string => `${(bytes / GIB).toFixed(bytes < GIB ? 3 : 1)} GiB`;

/** Largest file: configurations of kubelets have some KiB. */
const MAX_BYTES = 256 * 1024;

const KubeletConfiguration = foreign(
  z.object({
    kind: z.literal('KubeletConfiguration'),
    imageGCHighThresholdPercent: z.int().min(0).max(100).nullish(),
    imageMaximumGCAge: z.string().max(40).nullish(),
    imagePullCredentialsVerificationPolicy: z.string().max(64).nullish(),
  }),
);

/** Settings of a kubelet that decide how long images stay usable on its node. */
export interface ImageCare {
  readonly gcThresholdPercent: number;
  /** `imageMaximumGCAge` and `imagePullCredentialsVerificationPolicy` as written; undefined when the configuration cannot be read. */
  readonly stated: { readonly maximumAge: string | undefined; readonly credentials: string | undefined } | undefined;
}

/**
 * Reads the percentage of the image file system above which this node's kubelet removes unused images, and what else ends their use. The kubelet's
 * configuration precedes `IMAGE_GC_HIGH_THRESHOLD_PERCENT`. An unusable file is logged and ignored, because the node runs with it.
 */
export async function readImageCare(config: Pick<Config, 'kubeletConfigPath' | 'gcThresholdPercent'>, logger: Logger): Promise<ImageCare> {
  const path = config.kubeletConfigPath;
  const unknown: ImageCare = { gcThresholdPercent: config.gcThresholdPercent, stated: undefined };
  if (path === undefined) return unknown;
  try {
    const text = (await readBounded(path, MAX_BYTES)).toString();
    // JSON is YAML.
    const document = parseDocument(text, { logLevel: 'silent', uniqueKeys: false, prettyErrors: false });
    const [problem] = document.errors;
    if (problem) throw problem;
    const parsed = KubeletConfiguration.parse(document.toJS({ maxAliasCount: 0 }));
    // The kubelet treats 0 as unset.
    return {
      gcThresholdPercent: parsed.imageGCHighThresholdPercent || config.gcThresholdPercent,
      stated: {
        maximumAge: parsed.imageMaximumGCAge ?? undefined,
        credentials: parsed.imagePullCredentialsVerificationPolicy ?? undefined,
      },
    };
  } catch (error) {
    logger.warn({ path, err: errorMessage(error), percent: config.gcThresholdPercent }, 'Reading the configuration of the kubelet failed');
    return unknown;
  }
}
