import type { SpokeAccess } from './agent-execution.ts';
import type { ServedResource } from './agent-semantics.ts';

type Json = Record<string, unknown>;

/**
 * A spoke's API server as ManifestWorks use it: a real one, or a simulated spoke's store. Errors carry the server's own words, which go
 * into conditions.
 */
export interface WorkAccess extends Pick<SpokeAccess, 'findKind' | 'create' | 'mergePatch'> {
  /** Undefined when there is no such object, or no such namespace. */
  find(served: ServedResource, namespace: string | undefined, name: string): Promise<Json | undefined>;
  /** Server-side apply. */
  apply(served: ServedResource, namespace: string | undefined, name: string, object: Json, options: ApplyFields): Promise<void>;
  /** Foreground, and only the object with this uid; nothing to delete is fine. */
  deleteExactly(served: ServedResource, namespace: string | undefined, name: string, uid: string): Promise<void>;
}

/** How fields are applied. */
export interface ApplyFields {
  readonly fieldManager: string;
  /** Take over fields that others own. */
  readonly force: boolean;
}
