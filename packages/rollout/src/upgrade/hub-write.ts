/** Writes on the hub that a plan has decided. */
import type { KubeObject, Ref, Resource } from '@flotilla/api';

/** One write. Writes of a plan are made in order; each is idempotent. */
export type HubWrite =
  | { readonly verb: 'create'; readonly kind: Resource; readonly object: KubeObject }
  /** Deletes this very object; one with another uid counts as gone. */
  | { readonly verb: 'delete'; readonly kind: Resource; readonly ref: Ref; readonly uid: string }
  /** JSON merge patch, or a list of JSON patch; an object that is gone needs none. `says`: its effect, where it has the time too. */
  | { readonly verb: 'patch'; readonly kind: Resource; readonly ref: Ref; readonly patch: unknown; readonly says?: string };

/** The deletion of an object as it was seen. */
export const deletionOf = (kind: Resource, { metadata }: KubeObject): HubWrite => ({
  verb: 'delete',
  kind,
  ref: { namespace: metadata.namespace, name: metadata.name },
  uid: metadata.uid ?? '',
});
