import { Annotation } from '@flotilla/api';
import { type PrecachingSpec, precacheSpecData } from '@flotilla/api/ran';
import { templateDigest } from '../../../spokes/actions/hub-objects.ts';
import type { SpokeManifest } from '../../../spokes/port/workload.ts';

/** Cached, because every reconcile of every spoke of an upgrade needs the digest of the same spec. */
const digests = new WeakMap<PrecachingSpec, string>();

/**
 * Computes the digest of a spec's effect on the puller. It ignores the order of lists and empty fields, so a hub that knows another field starts
 * nothing over. Specs are immutable, so each is read once.
 */
export function specDigest(spec: PrecachingSpec): string {
  const known = digests.get(spec);
  if (known !== undefined) return known;
  const filled = Object.entries(precacheSpecData(spec)).filter(([, lines]) => lines !== '');
  const digest = templateDigest(filled.map(([key, lines]) => [key, lines.split('\n').toSorted()]));
  digests.set(spec, digest);
  return digest;
}

/** Annotates namespace and job with the digest of their spec. */
export function markWithDigest(manifests: readonly SpokeManifest[], digest: string): SpokeManifest[] {
  return manifests.map((manifest) => {
    const { template } = manifest;
    if (template.kind !== 'Namespace' && template.kind !== 'Job') return manifest;
    const metadata = Object(template.metadata);
    const annotations = { ...metadata.annotations, [Annotation.specDigest]: digest };
    return { ...manifest, template: { ...template, metadata: { ...metadata, annotations } } };
  });
}
