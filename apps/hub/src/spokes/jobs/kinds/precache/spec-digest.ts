import { Annotation, perObject } from '@flotilla/api';
import { type PrecachingSpec, precacheSpecData } from '@flotilla/api/ran';
import { templateDigest } from '../../../transports/actions/hub-objects.ts';
import type { SpokeManifest } from '../../../transports/port/workload.ts';

/**
 * Computes the digest of a spec's effect on the puller. It ignores the order of lists and empty fields, so a hub that knows another field starts
 * nothing over. Every reconcile of every spoke needs it.
 */
export const specDigest = perObject((spec: PrecachingSpec): string => {
  const filled = Object.entries(precacheSpecData(spec)).filter(([, lines]) => lines !== '');
  return templateDigest(filled.map(([key, lines]) => [key, lines.split('\n').toSorted()]));
});

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
