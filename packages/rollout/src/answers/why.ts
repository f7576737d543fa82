/** Why a spoke, or an upgrade as a whole, waits: the questions in the hub's own order, the first that waits is the cause. Pure. */
import { findCondition, refKey } from '@flotilla/api';
import type { WhyAnswer } from '@flotilla/api/answers';
import {
  type ClusterGroupUpgrade,
  ClusterGroupUpgradeCondition,
  isFinalBackupState,
  isFinalPrecacheState,
  unpackStatus,
} from '@flotilla/api/ran';
import { stateByProgress } from '../batches/clusters-under-way.ts';
import type { BlockingRef } from '../gates/blocking.ts';
import { judgeBatchGates, judgeGates } from '../gates/gates.ts';
import { RecordState } from '../upgrade/model.ts';
import { RolloutState } from '../upgrade/rollout-machine.ts';
import { isRunning, stateOf } from '../upgrade/stage.ts';
import { clusterWait, heldWait, presence } from './batch-waits.ts';
import { conditionEvidence, fixFor } from './conditions.ts';
import type { UpgradeFacts } from './facts.ts';
import { behind, byItself, bySomebody, type Finding, finding, link, specEvidence, upgradeEvidence } from './finding.ts';
import { backupWait, gateInputOf, gateWait } from './gate-waits.ts';
import { hubWait } from './hub-waits.ts';
import { precacheWait } from './precache-waits.ts';

/** Blocking upgrades that are followed behind each other. */
const MOST_UPGRADES = 10;

/** Asks about one upgrade; what many clusters wait for is found once. */
export class Inquiry {
  readonly #facts: UpgradeFacts;
  readonly #depth: number;
  readonly #members: ReadonlySet<string>;
  readonly #records: ReadonlyMap<string, NonNullable<NonNullable<ClusterGroupUpgrade['status']>['clusters']>[number]>;
  readonly #batchOf: ReadonlyMap<string, number>;
  readonly #known = new Map<string, Finding>();
  #whole: Finding | undefined;
  #following: Finding | undefined;

  constructor(facts: UpgradeFacts, depth = 0) {
    this.#facts = facts;
    this.#depth = depth;
    const { status, spec } = facts.upgrade;
    this.#records = new Map((status?.clusters ?? []).map((record) => [record.name, record]));
    this.#batchOf = new Map((status?.remediationPlan ?? []).flatMap((batch, index) => batch.map((cluster) => [cluster, index + 1])));
    const states = Object.keys(status?.precaching?.status ?? {});
    const progress = Object.keys(status?.status.currentBatchRemediationProgress ?? {});
    this.#members = new Set([...this.#batchOf.keys(), ...this.#records.keys(), ...states, ...progress, ...(spec?.clusters ?? [])]);
  }

  /** Every cluster that the upgrade is known to mean. */
  get members(): ReadonlySet<string> {
    return this.#members;
  }

  /** Members that have no record yet, while the upgrade goes on. */
  get open(): readonly string[] {
    if (this.#state === RolloutState.ended || this.#state === RolloutState.cleaned) return [];
    return [...this.#members].filter((cluster) => !this.#records.has(cluster));
  }

  get #state(): RolloutState {
    return stateOf(this.#facts.upgrade);
  }

  /** Why a cluster waits. */
  cluster(name: string): Finding {
    const known = this.#known.get(name);
    if (known) return known;
    const found = this.#clusterQuestions(name);
    this.#known.set(name, found);
    return found;
  }

  /** Why the upgrade as a whole waits. */
  upgrade(): Finding {
    this.#whole ??= this.#wholeQuestions();
    return this.#whole;
  }

  #clusterQuestions(name: string): Finding {
    return (
      this.#recorded(name) ??
      this.#ended() ??
      this.#strange(name) ??
      hubWait(this.#facts) ??
      this.#refused() ??
      this.#job(name) ??
      this.#rollout(name)
    );
  }

  #wholeQuestions(): Finding {
    return this.#ended() ?? hubWait(this.#facts) ?? this.#refused() ?? this.#next();
  }

  #recorded(name: string): Finding | undefined {
    const record = this.#records.get(name);
    if (!record) return undefined;
    const { status } = this.#facts.upgrade;
    const again = status?.messages?.[name];
    const evidence = upgradeEvidence(this.#facts, `status.clusters[${name}].state`, record.state);
    if (record.state === RecordState.complete)
      return again === undefined
        ? finding('done', link(`${name} is done`, evidence), byItself('Nothing is waited for.'), { says: 'nothing' })
        : finding(
            'policy',
            link(`${name} ${again}`, upgradeEvidence(this.#facts, `status.messages[${name}]`, again)),
            byItself('It goes on with the last batch.'),
          );
    const why = record.message ?? status?.precaching?.messages?.[name] ?? status?.backup?.messages?.[name] ?? whereItStood(record);
    const word = record.state === RecordState.timedOut ? 'timed out' : 'failed';
    return finding(
      'failed',
      link(`${name} ${word}: ${why}`, evidence),
      bySomebody('Mend what it says, then upgrade this cluster by another ClusterGroupUpgrade.'),
      { says: `${word}: ${why.replaceAll(name, '(cluster)')}` },
    );
  }

  #ended(): Finding | undefined {
    const { upgrade } = this.#facts;
    if (this.#state !== RolloutState.ended && this.#state !== RolloutState.cleaned) return undefined;
    const succeeded = findCondition(upgrade.status?.conditions, ClusterGroupUpgradeCondition.succeeded);
    const verdict = conditionEvidence(this.#facts, succeeded, ClusterGroupUpgradeCondition.succeeded);
    if (this.#state === RolloutState.ended) {
      const left = Object.entries(upgrade.status?.messages ?? {})[0];
      const says = left ? `its clean-up waits: ${left[0]}: ${left[1]}` : 'it has ended and is being cleaned up';
      return finding(
        'clean-up',
        link(says, left ? upgradeEvidence(this.#facts, `status.messages[${left[0]}]`, left[1]) : verdict),
        byItself('It is over when nothing of it is left on the hub.'),
      );
    }
    if (succeeded?.status === 'True')
      return finding('done', link('the upgrade has ended well', verdict), byItself('Nothing is waited for.'), { says: 'nothing' });
    return finding(
      'failed',
      link(`the upgrade has ended: ${succeeded?.message ?? ''}`, verdict),
      bySomebody('Mend what its clusters say (flotilla status), then create the upgrade anew for those that failed.'),
    );
  }

  #strange(name: string): Finding | undefined {
    if (this.#members.has(name)) return undefined;
    const { upgrade } = this.#facts;
    const isPlanned = upgrade.status?.remediationPlan !== undefined;
    const says = `${name} is no part of this upgrade`;
    return finding(
      'not-a-member',
      isPlanned
        ? link(says, upgradeEvidence(this.#facts, 'status.remediationPlan', `${this.#members.size} clusters`))
        : {
            ...link(`${says} as far as it is planned`, specEvidence(this.#facts, 'spec.clusters', upgrade.spec?.clusters ?? [])),
            isUnknown: true,
          },
      bySomebody('It complies already, or is not selected: see spec.clusters and spec.clusterLabelSelectors.'),
    );
  }

  /** What keeps the upgrade from being planned, in the hub's own words. */
  #refused(): Finding | undefined {
    const { upgrade } = this.#facts;
    const { clustersSelected, validated, precacheSpecValid } = ClusterGroupUpgradeCondition;
    if (isRunning(upgrade)) return undefined;
    const conditions = upgrade.status?.conditions;
    if (!conditions?.length)
      return finding(
        'not-planned',
        link('no hub has looked at the upgrade yet', upgradeEvidence(this.#facts, 'status.conditions', '(none)')),
        bySomebody('See that a hub runs and reads this API server; it looks at a new upgrade within seconds.'),
      );
    for (const type of [clustersSelected, validated, precacheSpecValid]) {
      const condition = findCondition(conditions, type);
      if (condition?.status !== 'False') continue;
      return finding('refused', link(condition.message, conditionEvidence(this.#facts, condition, type)), bySomebody(fixFor(condition)), {
        says: condition.message,
      });
    }
    return undefined;
  }

  /** Pre-caching of the cluster, then its backup. */
  #job(name: string): Finding | undefined {
    const { upgrade } = this.#facts;
    const state = upgrade.status?.precaching?.status?.[name];
    if (isRunning(upgrade) || !state) return undefined;
    const isUnderWay = state !== 'NotStarted' && !isFinalPrecacheState(state);
    const away = isUnderWay ? presence({ facts: this.#facts, cluster: name }) : undefined;
    const message = upgrade.status?.precaching?.messages?.[name];
    const held = state === 'NotStarted' ? heldWait({ facts: this.#facts, cluster: name }) : undefined;
    return held ?? away ?? precacheWait(state, { facts: this.#facts, cluster: name, message, askUpgrade: (ref) => this.#askUpgrade(ref) });
  }

  /** Of a cluster whose job is done: what the rollout waits for, and its own place in it. */
  #rollout(name: string): Finding {
    const { upgrade } = this.#facts;
    const { status } = upgrade;
    if (!isRunning(upgrade)) {
      const ready = status?.precaching?.status?.[name] === 'Succeeded' ? `${name} is cached` : `${name} is ready`;
      const rest = this.#next();
      const field = status?.precaching ? `status.precaching.status[${name}]` : 'status.remediationPlan';
      const value = status?.precaching?.status?.[name] ?? `batch ${this.#batchOf.get(name) ?? '?'}`;
      return behind(link(`${ready} and waits for the rollout to start`, upgradeEvidence(this.#facts, field, value)), rest, rest.own);
    }
    const [batch, current] = [this.#batchOf.get(name) ?? 0, status?.status.currentBatch ?? 0];
    const progress = status?.status.currentBatchRemediationProgress?.[name];
    if (batch > current && current > 0) return this.#later(name, batch, current);
    if (current > 0 && this.#state === RolloutState.gated && !progress) return this.#next();
    const found = clusterWait(stateByProgress(progress, current), { facts: this.#facts, cluster: name });
    if (found) return found;
    return finding(
      'done',
      link(`${name} is through`, upgradeEvidence(this.#facts, 'status.status', status?.status.currentBatch ?? 0)),
      byItself('The hub records it with its next pass.'),
    );
  }

  #later(name: string, batch: number, current: number): Finding {
    const head = link(`${name} waits for batch ${batch}`, upgradeEvidence(this.#facts, 'status.remediationPlan', `batch ${batch}`));
    const rest = this.#next();
    return { ...rest, own: { cause: 'batch', says: `batch ${current} to end` }, links: [head, ...rest.links] };
  }

  /** Next thing that the upgrade waits for; thousands of clusters ask for it, so it is found once. */
  #next(): Finding {
    this.#following ??= this.#findNext();
    return this.#following;
  }

  /** A gate, the preparation, or the slowest cluster of the current batch. */
  #findNext(): Finding {
    const { upgrade, now } = this.#facts;
    if (!isRunning(upgrade)) {
      const refusal = judgeGates(gateInputOf(this.#facts));
      if (refusal)
        return gateWait({ facts: this.#facts, refusal, askUpgrade: (ref) => this.#askUpgrade(ref), askJob: (job) => this.#askJob(job) });
      return finding(
        'leave',
        link('the rollout is about to start', upgradeEvidence(this.#facts, 'status.conditions', 'Progressing')),
        byItself('It starts with the next pass of the hub.'),
      );
    }
    const gated = this.#state === RolloutState.gated ? judgeBatchGates(gateInputOf(this.#facts)) : undefined;
    if (gated) return this.#gated(gated);
    const progressing = findCondition(upgrade.status?.conditions, ClusterGroupUpgradeCondition.progressing);
    if (progressing?.reason === 'WaitingForPlacement')
      return finding(
        'placement',
        link(progressing.message, conditionEvidence(this.#facts, progressing, 'Progressing')),
        bySomebody(fixFor(progressing)),
      );
    const slowest = this.#slowest();
    if (slowest !== undefined) return this.#batchBehind(slowest);
    return finding(
      'leave',
      link('the hub goes on with its next pass', {
        ...upgradeEvidence(this.#facts, 'status.status', upgrade.status?.status ?? {}),
        observedAt: new Date(now).toISOString(),
      }),
      byItself('It goes on with the next pass of the hub.'),
    );
  }

  #gated(refusal: NonNullable<ReturnType<typeof judgeBatchGates>>): Finding {
    const current = this.#facts.upgrade.status?.status.currentBatch ?? 0;
    const rest = gateWait({ facts: this.#facts, refusal, askUpgrade: (ref) => this.#askUpgrade(ref), askJob: (job) => this.#askJob(job) });
    return behind(
      link(`batch ${current} may not start yet`, upgradeEvidence(this.#facts, 'status.status.currentBatch', current)),
      rest,
      rest.own,
    );
  }

  #batchBehind(slowest: string): Finding {
    const { status } = this.#facts.upgrade;
    const current = status?.status.currentBatch ?? 0;
    const rest = this.cluster(slowest);
    const batch = status?.remediationPlan?.[current - 1] ?? [...this.#members];
    const done = batch.filter((cluster) => this.#records.has(cluster)).length;
    const what = current === 0 ? 'the preparation' : `batch ${current}`;
    const says = `${what} waits for ${slowest} (${done} of ${batch.length} done)`;
    return behind(link(says, upgradeEvidence(this.#facts, 'status.status.currentBatch', current)), rest, rest.own);
  }

  /** The cluster under way that is least far; of those that are equally far one of which the hub has something to say. */
  #slowest(): string | undefined {
    const { status } = this.#facts.upgrade;
    const current = status?.status.currentBatch ?? 0;
    const progress = status?.status.currentBatchRemediationProgress ?? {};
    const batch = current === 0 ? [...this.#batchOf.keys()] : [...(status?.remediationPlan?.[current - 1] ?? []), ...Object.keys(progress)];
    const rank = (cluster: string): number => {
      const entry = progress[cluster] ?? {};
      const state = ['preparing', 'waiting', 'remediating', 'soaking', 'editing'].indexOf(stateByProgress(progress[cluster], current));
      const told = status?.messages?.[cluster] === undefined ? 1 : 0;
      return (entry.policyIndex ?? entry.manifestWorkIndex ?? 0) * 100 + state * 10 + told;
    };
    return least(new Set(batch.filter((cluster) => !this.#records.has(cluster))), rank);
  }

  #askJob(job: 'precaching' | 'backup'): Finding {
    const { status } = this.#facts.upgrade;
    const states: Readonly<Record<string, string>> = status?.[job]?.status ?? {};
    const isFinal = (cluster: string) => {
      const backup = status?.backup?.status?.[cluster];
      const precaching = status?.precaching?.status?.[cluster];
      return job === 'backup'
        ? backup !== undefined && isFinalBackupState(backup)
        : precaching !== undefined && isFinalPrecacheState(precaching);
    };
    const open = [...new Set([...this.#batchOf.keys(), ...Object.keys(states)])].filter((cluster) => !isFinal(cluster));
    const order = ['NotStarted', 'PreparingToStart', 'Starting', 'Active'];
    const slowest = least(
      new Set(open),
      (cluster) => order.indexOf(states[cluster] ?? '') * 2 + (status?.[job]?.messages?.[cluster] ? 0 : 1),
    );
    if (slowest === undefined)
      return finding(
        'failed',
        link(`${job} has failed on clusters that the rollout needs`, upgradeEvidence(this.#facts, `status.${job}.status`, states)),
        bySomebody('Mend what status.clusters names, then create the upgrade anew.'),
      );
    const rest = job === 'backup' ? backupWait(this.#facts, slowest) : this.cluster(slowest);
    const says = `${job === 'backup' ? 'the backup' : 'pre-caching'} of ${open.length} clusters is not over; the least far is ${slowest}`;
    return behind(link(says, upgradeEvidence(this.#facts, `status.${job}.status`, `${open.length} not over`)), rest, rest.own);
  }

  #askUpgrade(ref: BlockingRef): Finding {
    const seen = this.#facts.upgradeAt(ref);
    const object = `ClusterGroupUpgrade ${refKey(ref)}`;
    if (seen.kind !== 'read' || !seen.object || this.#depth >= MOST_UPGRADES) {
      const why = seen.kind === 'unread' ? seen.why : this.#depth >= MOST_UPGRADES ? 'the upgrades wait for each other' : 'it is not there';
      return finding(
        'gate-blocking',
        link(`why ${refKey(ref)} has not ended is not known: ${why}`, { object, field: 'status', value: '?', isUnknown: true }),
        bySomebody(`flotilla why ${ref.name} -n ${ref.namespace}, by somebody who may read it.`),
      );
    }
    const { status } = seen.object;
    const upgrade = status ? { ...seen.object, status: unpackStatus(status) } : seen.object;
    return new Inquiry({ ...this.#facts, upgrade }, this.#depth + 1).upgrade();
  }
}

function least(names: ReadonlySet<string>, rank: (name: string) => number): string | undefined {
  let found: { readonly name: string; readonly rank: number } | undefined;
  for (const name of names) {
    const each = rank(name);
    if (!found || each < found.rank) found = { name, rank: each };
  }
  return found?.name;
}

const whereItStood = ({
  currentPolicy,
  currentManifestWork,
}: {
  currentPolicy?: { name: string } | undefined;
  currentManifestWork?: { name: string } | undefined;
}): string =>
  currentPolicy
    ? `at policy ${currentPolicy.name}`
    : currentManifestWork
      ? `at ManifestWork ${currentManifestWork.name}`
      : 'without a sentence';

/** The answer as it is printed. @param cluster the spoke that was asked about; absent for the whole */
export function answerWhy(
  inquiry: Inquiry,
  upgrade: ClusterGroupUpgrade,
  cluster: string | undefined,
  notes: readonly string[],
): WhyAnswer {
  const { cause, links, release } = cluster === undefined ? inquiry.upgrade() : inquiry.cluster(cluster);
  const isCertain = links.every(({ isUnknown }) => !isUnknown);
  const whose = cluster === undefined ? {} : { cluster };
  return {
    upgrade: refKey(upgrade.metadata),
    ...whose,
    cause,
    isCertain,
    chain: [...links],
    release,
    notes: [...notes],
  };
}
