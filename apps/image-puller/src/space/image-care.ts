import { errorMessage, foreign } from '@flotilla/api';
import type { Logger } from '@flotilla/runtime';
import { parseDocument } from 'yaml';
import { z } from 'zod';
import type { Config } from '../config.ts';
import { readBounded } from '../small-file.ts';

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
