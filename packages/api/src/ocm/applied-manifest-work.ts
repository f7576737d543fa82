import { z } from 'zod';
import { KubeObject, resource } from '../kubernetes.ts';
import { readable, readableList } from '../readable.ts';
import { list, object, text } from '../schema-parts.ts';

/** An object that a work holds on the spoke. Without a uid it is not known yet whether the work made it. */
const AppliedResource = z.looseObject({
  group: z.string().optional(),
  version: z.string(),
  resource: z.string(),
  name: z.string(),
  namespace: z.string().optional(),
  uid: z.string().optional(),
});
export type AppliedResource = z.output<typeof AppliedResource>;

/** Most entries that are read: as many as a work may have, twice, because removed ones may still be on their way. */
const MOST = 4_000;

const Schema = KubeObject.extend({
  spec: z.looseObject({ hubHash: z.string(), manifestWorkName: z.string(), agentID: z.string().optional() }),
  status: readable(z.looseObject({ appliedResources: readableList(AppliedResource, MOST), evictionStartTime: readable(z.string()) })),
});
/** Record of a work on the spoke, which outlives work and agent (spec/ocm 4.1). */
export type AppliedManifestWork = z.output<typeof Schema>;
export const AppliedManifestWork = resource(
  'work.open-cluster-management.io/v1',
  'AppliedManifestWork',
  'appliedmanifestworks',
  false,
  Schema,
);

const appliedResource = object({ group: text, version: text, resource: text, name: text, namespace: text, uid: text }, [
  'name',
  'resource',
  'version',
]);

/** `spec` and `status` of AppliedManifestWork (spec/ocm 4.1). */
export const appliedManifestWorkSchema = {
  spec: object({ hubHash: text, manifestWorkName: text, agentID: text }, ['hubHash', 'manifestWorkName']),
  status: object({ appliedResources: list(appliedResource), evictionStartTime: { ...text, format: 'date-time' } }),
};
