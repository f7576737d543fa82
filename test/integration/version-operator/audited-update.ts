import { isJsonObject, isSameJson } from '@flotilla/api';
import { z } from 'zod';
import { AUDIT_IN_ONE_FILE, BEFORE_THE_ANSWER, readAuditLog } from '../../fixtures/audit-log.ts';
import type { ReleasedComponent } from './leveled-release.ts';

const GROUPS = ['', 'apps', 'rbac.authorization.k8s.io', 'apiextensions.k8s.io', 'config.openshift.io', 'chaos.flotilla.io'];

/** Options of an API server that records, with its answer, every write that an update consists of. */
export const auditUpdates = (auditLogPath: string) => ({
  auditLogPath,
  auditPolicy: {
    omitStages: BEFORE_THE_ANSWER,
    omitManagedFields: true,
    rules: [
      { level: 'RequestResponse', verbs: ['create', 'update', 'patch', 'delete'], resources: GROUPS.map((group) => ({ group })) },
      { level: 'None' },
    ],
  },
  flags: [AUDIT_IN_ONE_FILE],
});

/** A write that took effect. */
export interface AuditedWrite {
  /** `resource namespace/name`; `resource/status …` for a status. */
  readonly id: string;
  /** Of the store: one order for all objects, whoever wrote them. */
  readonly revision: number;
  readonly object: Readonly<Record<string, unknown>>;
}

const Answer = z.looseObject({
  kind: z.string(),
  metadata: z.looseObject({ resourceVersion: z.string(), generation: z.number().optional() }),
});

/** The writes after a revision that changed something, in the order in which they took effect. */
export async function readWrites(file: string, since: number): Promise<AuditedWrite[]> {
  const writes = new Map<number, AuditedWrite>();
  for await (const { objectRef, responseStatus, responseObject } of readAuditLog(file)) {
    if (!objectRef || responseStatus.code < 200 || responseStatus.code > 299) continue;
    const answer = Answer.safeParse(responseObject).data;
    if (!answer || answer.kind === 'Status') continue;
    const revision = Number(answer.metadata.resourceVersion);
    const { resource, subresource, namespace, name } = objectRef;
    // the name of what is created may stand in the answer alone
    const called = name || String(answer.metadata.name);
    const place = namespace === '' || resource === 'namespaces' ? called : `${namespace}/${called}`;
    const id = `${resource}${subresource ? `/${subresource}` : ''} ${place}`;
    // a write that changes nothing has the revision of the one before
    if (revision > since && !writes.has(revision)) writes.set(revision, { id, revision, object: answer });
  }
  return [...writes.values()].toSorted((a, b) => a.revision - b.revision);
}

/**
 * What an update did otherwise than it is to: an object that changed more than once, one that was touched without need, and one that was
 * written before what it waits for. Empty when all was well.
 */
export function faultsOf(release: readonly ReleasedComponent[], version: string, writes: readonly AuditedWrite[]): string[] {
  const of = (id: string) => writes.filter((write) => write.id === id);
  const doubled = release.flatMap(({ objects }) =>
    objects.flatMap(({ id, differs }) => {
      const times = of(id).filter((write, index, all) => index === 0 || !isSameJson(contentOf(write), contentOf(all[index - 1])));
      const wanted = differs ? 1 : 0;
      return times.length === wanted ? [] : [`${id} was changed ${times.length} times instead of ${wanted}`];
    }),
  );
  const disordered = release.flatMap((component) => {
    const own = component.objects.flatMap(({ id }) => of(id).slice(0, 1));
    const early = own.flatMap((write, index) => {
      const next = own[index + 1];
      return next && next.revision < write.revision ? [`${next.id} was written before ${write.id}`] : [];
    });
    const first = own[0];
    if (!first) return early;
    const before = release.filter(({ level }) => level < component.level).flatMap((lower) => awaited(lower, version, writes));
    return [
      ...early,
      ...before.flatMap(({ what, revision }) => (revision < first.revision ? [] : [`${first.id} was written before ${what}`])),
    ];
  });
  return [...doubled, ...disordered];
}

/** What the levels above a component wait for, and when it came; infinitely late when it never did. */
function awaited({ objects, name, hasOperator }: ReleasedComponent, version: string, writes: readonly AuditedWrite[]) {
  const when = (what: string, matches: (write: AuditedWrite) => boolean) => ({
    what,
    revision: writes.find(matches)?.revision ?? Number.POSITIVE_INFINITY,
  });
  const written = objects.filter(({ differs }) => differs).map(({ id }) => when(id, (write) => write.id === id));
  if (!hasOperator) return written;
  return [
    ...written,
    when(`${name} had rolled out`, ({ id, object }) => id.startsWith('deployments/status ') && id.endsWith(`/${name}`) && isSeen(object)),
    when(
      `${name} had reported ${version}`,
      ({ id, object }) => id === `clusteroperators/status ${name}` && JSON.stringify(object.status).includes(`"version":"${version}"`),
    ),
  ];
}

const isSeen = ({ metadata, status }: AuditedWrite['object']): boolean =>
  isJsonObject(metadata) && isJsonObject(status) && metadata.generation === status.observedGeneration;

/** All of an object that is not the server's own or its status. */
function contentOf(write: AuditedWrite | undefined): unknown {
  const { metadata, status: _, ...rest } = write?.object ?? {};
  const { labels, annotations, ownerReferences } = isJsonObject(metadata) ? metadata : {};
  return { labels, annotations, ownerReferences, ...rest };
}
