import type { PullerReport } from '@flotilla/api/ran';
import type { ImageCare } from '../space/image-care.ts';
import type { StoreUsage } from '../space/space.ts';

type Risk = NonNullable<PullerReport['risks']>[number];

/** Policies by which a kubelet starts an image that it did not pull itself without asking a registry. */
const TRUSTING = new Set(['NeverVerify', 'NeverVerifyPreloadedImages']);

/** Names what would take cached images away, or keep the kubelet from using them, each with its value. Pure. */
export function findRisks({ gcThresholdPercent, stated }: ImageCare, { sizeBytes, availableBytes }: StoreUsage): Risk[] {
  const used = sizeBytes > 0 ? Math.ceil(100 - (availableBytes * 100) / sizeBytes) : 0;
  const risks: Risk[] = [];
  if (used >= gcThresholdPercent)
    risks.push({ name: 'imageGCHighThresholdPercent', value: `${gcThresholdPercent} %, and ${used} % of the disk are used` });
  if (!stated) return [...risks, { name: 'kubelet configuration', value: 'unknown' }];
  const { maximumAge, credentials } = stated;
  if (maximumAge !== undefined && /[1-9]/.test(maximumAge)) risks.push({ name: 'imageMaximumGCAge', value: maximumAge });
  if (credentials !== undefined && !TRUSTING.has(credentials))
    risks.push({ name: 'imagePullCredentialsVerificationPolicy', value: credentials });
  return risks;
}
