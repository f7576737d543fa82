import { open } from 'node:fs/promises';
import { errorMessage } from '@flotilla/api';
import type { Logger } from '@flotilla/runtime';
import { parseDocument } from 'yaml';
import { z } from 'zod';
import type { Config } from '../config.ts';

/** Largest file: configurations of kubelets have some KiB. */
const MAX_BYTES = 256 * 1024;

const KubeletConfiguration = z.object({
  kind: z.literal('KubeletConfiguration'),
  imageGCHighThresholdPercent: z.int().min(0).max(100).nullish(),
});

/**
 * Reads the percentage of the image file system above which this node's kubelet removes unused images. The kubelet's configuration precedes
 * `IMAGE_GC_HIGH_THRESHOLD_PERCENT`. An unusable file is logged and ignored, because the node runs with it.
 */
export async function readGcThreshold(config: Pick<Config, 'kubeletConfigPath' | 'gcThresholdPercent'>, logger: Logger): Promise<number> {
  const path = config.kubeletConfigPath;
  if (path === undefined) return config.gcThresholdPercent;
  try {
    // JSON is YAML.
    const document = parseDocument(await readText(path), { logLevel: 'silent', uniqueKeys: false, prettyErrors: false });
    const [problem] = document.errors;
    if (problem) throw problem;
    const parsed = KubeletConfiguration.parse(document.toJS({ maxAliasCount: 0 }));
    // The kubelet treats 0 as unset.
    return parsed.imageGCHighThresholdPercent || config.gcThresholdPercent;
  } catch (error) {
    logger.warn({ path, err: errorMessage(error), percent: config.gcThresholdPercent }, 'Reading the configuration of the kubelet failed');
    return config.gcThresholdPercent;
  }
}

async function readText(path: string): Promise<string> {
  await using file = await open(path);
  const { bytesRead, buffer } = await file.read(Buffer.alloc(MAX_BYTES + 1), 0, MAX_BYTES + 1, 0);
  if (bytesRead > MAX_BYTES) throw new RangeError(`it has more than ${MAX_BYTES} bytes`);
  return buffer.toString('utf8', 0, bytesRead);
}
