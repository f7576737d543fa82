/** The clusters that an upgrade means, as far as its objects tell. Pure. */
import type { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { type ClusterRecord, RecordState } from '../upgrade/model.ts';
import { isEnding } from '../upgrade/stage.ts';

/** Members of one upgrade, each with its batch and its record. */
export class Membership {
  readonly all: ReadonlySet<string>;
  readonly #upgrade: ClusterGroupUpgrade;
  readonly #records: ReadonlyMap<string, ClusterRecord>;
  readonly #batchOf: ReadonlyMap<string, number>;

  constructor(upgrade: ClusterGroupUpgrade) {
    const { status, spec } = upgrade;
    this.#upgrade = upgrade;
    this.#records = new Map((status?.clusters ?? []).map((record) => [record.name, record]));
    this.#batchOf = new Map((status?.remediationPlan ?? []).flatMap((batch, index) => batch.map((cluster) => [cluster, index + 1])));
    const states = Object.keys(status?.precaching?.status ?? {});
    const progress = Object.keys(status?.status.currentBatchRemediationProgress ?? {});
    this.all = new Set([...this.#batchOf.keys(), ...this.#records.keys(), ...states, ...progress, ...(spec?.clusters ?? [])]);
  }

  /** Members of the plan. */
  get planned(): Iterable<string> {
    return this.#batchOf.keys();
  }

  /** Members that the upgrade still waits for: those without a record, and those with one of which the hub has something to say again. */
  get open(): readonly string[] {
    if (isEnding(this.#upgrade)) return [];
    return [...this.all].filter((cluster) => !this.#records.has(cluster) || this.saidAgain(cluster) !== undefined);
  }

  record(cluster: string): ClusterRecord | undefined {
    return this.#records.get(cluster);
  }

  /** Batch of a cluster, from 1. */
  batch(cluster: string): number | undefined {
    return this.#batchOf.get(cluster);
  }

  /** The hub's sentence on a cluster that has its record and holds up the end all the same. */
  saidAgain(cluster: string): string | undefined {
    const record = this.#records.get(cluster);
    return record === undefined || record.state === RecordState.failed ? undefined : this.#upgrade.status?.messages?.[cluster];
  }
}
