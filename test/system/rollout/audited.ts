import { Label } from '@flotilla/api';
import { ManifestWork, Placement, Policy } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { z } from 'zod';
import { AUDIT_IN_ONE_FILE, type AuditEntry, BEFORE_THE_ANSWER, readAuditLog } from '../../fixtures/audit-log.ts';
import { selectorValues } from '../../fixtures/placed-policies.ts';
import { isTemplateDone, templateOf } from '../../fixtures/work-templates.ts';

/** User of hubs in an audited world. */
export const HUB_USER = 'hub';

const inGroup = (group: string, ...resources: string[]) => ({ group, resources });

/** Options of an API server that records, with its answer, every write an upgrade consists of. */
export const auditWrites = (auditLogPath: string) => ({
  users: [{ name: HUB_USER, groups: ['system:masters'] }],
  auditLogPath,
  auditPolicy: {
    omitStages: BEFORE_THE_ANSWER,
    omitManagedFields: true,
    rules: [
      {
        level: 'RequestResponse',
        verbs: ['create', 'update', 'patch'],
        resources: [
          inGroup('work.open-cluster-management.io', 'manifestworks', 'manifestworks/status'),
          inGroup('cluster.open-cluster-management.io', 'managedclusters', 'placements'),
          inGroup('policy.open-cluster-management.io', 'policies/status'),
          inGroup('ran.openshift.io', 'clustergroupupgrades/status'),
        ],
      },
      { level: 'None' },
    ],
  },
  flags: [AUDIT_IN_ONE_FILE],
});

/** What an upgrade did to its clusters. Times are revisions of the store: one order for all objects, whoever wrote them. */
interface AuditedRollout {
  /** By `step cluster`: every time a work was created there, or the cluster came into the policy's Placement. */
  readonly begun: ReadonlyMap<string, readonly number[]>;
  /** By cluster: the first time the last step was reported done. */
  readonly done: ReadonlyMap<string, number>;
  /** By cluster: every time the hub changed its ManagedCluster. */
  readonly edits: ReadonlyMap<string, readonly number[]>;
  /** `currentBatch` of every version of the status, in order, without repetition. */
  readonly batches: readonly number[];
}

/** Which upgrade of namespace `default`; steps are its policies or templates, in order; since milliseconds of the epoch. */
export interface AuditedUpgrade {
  readonly upgrade: string;
  readonly steps: readonly string[];
  readonly sinceMs: number;
}

const Versioned = z.looseObject({ metadata: z.looseObject({ resourceVersion: z.string() }) });

/** A write, and when it took effect; one that changed nothing has the revision of the one before. */
interface Write {
  readonly revision: number;
  readonly entry: AuditEntry;
}

/** Reads what the API server recorded of an upgrade. */
export async function readRollout(file: string, { upgrade, steps, sinceMs }: AuditedUpgrade): Promise<AuditedRollout> {
  const rollout = new RolloutReader(upgrade, steps);
  const writes: Write[] = [];
  for await (const entry of readAuditLog(file)) {
    if (Date.parse(entry.requestReceivedTimestamp) < sinceMs || entry.responseStatus.code >= 300) continue;
    const { metadata } = Versioned.parse(entry.responseObject);
    writes.push({ revision: Number(metadata.resourceVersion), entry });
  }
  for (const write of writes.sort((a, b) => a.revision - b.revision)) rollout.read(write);
  return rollout;
}

class RolloutReader implements AuditedRollout {
  readonly begun = new Map<string, number[]>();
  readonly done = new Map<string, number>();
  readonly edits = new Map<string, number[]>();
  readonly batches: number[] = [];
  readonly #upgrade: string;
  readonly #steps: readonly string[];
  readonly #members = new Map<string, ReadonlySet<string>>();

  constructor(upgrade: string, steps: readonly string[]) {
    this.#upgrade = upgrade;
    this.#steps = steps;
  }

  read({ revision, entry: { verb, user, objectRef, responseObject } }: Write): void {
    switch (`${objectRef?.resource}/${objectRef?.subresource ?? ''}`) {
      case 'manifestworks/':
        if (verb === 'create') this.#begin(ManifestWork.schema.parse(responseObject), revision);
        return;
      case 'manifestworks/status':
        return this.#readWork(ManifestWork.schema.parse(responseObject), revision);
      case 'placements/':
        return this.#readPlacement(Placement.schema.parse(responseObject), revision);
      case 'policies/status':
        return this.#readPolicy(Policy.schema.parse(responseObject), revision);
      case 'managedclusters/':
        if (user.username === HUB_USER) add(this.edits, objectRef?.name ?? '', revision);
        return;
      case 'clustergroupupgrades/status':
        return this.#readUpgrade(ClusterGroupUpgrade.schema.parse(responseObject));
    }
  }

  #begin({ metadata }: ManifestWork, revision: number): void {
    const template = templateOf(metadata.name);
    if (this.#steps.includes(template)) add(this.begun, `${template} ${metadata.namespace}`, revision);
  }

  #readWork(work: ManifestWork, revision: number): void {
    const { name, namespace = '' } = work.metadata;
    if (templateOf(name) === this.#steps.at(-1) && isTemplateDone(work)) this.#finish(namespace, revision);
  }

  #readPlacement({ metadata, spec }: Placement, revision: number): void {
    const policy = metadata.labels?.[Label.forPolicy] ?? '';
    if (metadata.labels?.[Label.upgradeName] !== this.#upgrade || !this.#steps.includes(policy)) return;
    const before = this.#members.get(policy);
    const members = new Set(selectorValues(spec));
    for (const cluster of members) if (!before?.has(cluster)) add(this.begun, `${policy} ${cluster}`, revision);
    this.#members.set(policy, members);
  }

  #readPolicy({ metadata, status }: Policy, revision: number): void {
    if (metadata.namespace !== 'policies' || metadata.name !== this.#steps.at(-1)) return;
    for (const { clustername, compliant } of status?.status ?? []) if (compliant === 'Compliant') this.#finish(clustername, revision);
  }

  #finish(cluster: string, revision: number): void {
    if (!this.done.has(cluster)) this.done.set(cluster, revision);
  }

  #readUpgrade({ metadata, status }: ClusterGroupUpgrade): void {
    const batch = status?.status.currentBatch;
    if (metadata.name === this.#upgrade && batch !== undefined && batch !== this.batches.at(-1)) this.batches.push(batch);
  }
}

/** Adds a revision once. */
function add(map: Map<string, number[]>, key: string, revision: number): void {
  const revisions = map.get(key) ?? [];
  map.set(key, revisions);
  if (!revisions.includes(revision)) revisions.push(revision);
}
