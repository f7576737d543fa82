import { Annotation } from '@flotilla/api';
import { type PrecachingSpec, precacheSpecData } from '@flotilla/api/ran';
import { templateDigest } from '../../../spokes/actions/hub-objects.ts';
import type { SpokeManifest } from '../../../spokes/port/workload.ts';

/** Every look at every spoke of an upgrade asks for the digest of one and the same spec. */
const digests = new WeakMap<PrecachingSpec, string>();

/**
 * Digest of what a spec makes the puller do; the order of its lists is no part of it, nor what it says nothing of: a hub that knows one field more
 * starts nothing over. Specs are taken as immutable: one is read once.
 */
export function specDigest(spec: PrecachingSpec): string {
  const known = digests.get(spec);
  if (known !== undefined) return known;
  const said = Object.entries(precacheSpecData(spec)).filter(([, lines]) => lines !== '');
  const digest = templateDigest(said.map(([key, lines]) => [key, lines.split('\n').toSorted()]));
  digests.set(spec, digest);
  return digest;
}

/** The manifests, with the namespace and the job saying which spec they were made for. */
export function markWithDigest(manifests: readonly SpokeManifest[], digest: string): SpokeManifest[] {
  return manifests.map((manifest) => {
    const { template } = manifest;
    if (template.kind !== 'Namespace' && template.kind !== 'Job') return manifest;
    const metadata = Object(template.metadata);
    const annotations = { ...metadata.annotations, [Annotation.specDigest]: digest };
    return { ...manifest, template: { ...template, metadata: { ...metadata, annotations } } };
  });
}
