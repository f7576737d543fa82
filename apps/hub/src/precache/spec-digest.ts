import { Annotation } from '@flotilla/api';
import type { PrecachingSpec } from '@flotilla/api/ran';
import type { SpokeManifest } from '../spoke-job/definition.ts';
import { templateDigest } from '../spoke-job/hub-objects.ts';
import { specData } from './manifests.ts';

/** Digest of what a spec makes the puller do; the order of its lists is no part of it. */
export const specDigest = (spec: PrecachingSpec): string =>
  templateDigest(Object.entries(specData(spec)).map(([key, lines]) => [key, lines.split('\n').toSorted()]));

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
