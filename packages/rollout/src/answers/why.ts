/** Why a spoke, or an upgrade as a whole, waits: the questions in the hub's own order, the first that waits is the cause. Pure. */
import { refKey } from '@flotilla/api';
import type { WhyAnswer } from '@flotilla/api/answers';
import { type ClusterGroupUpgrade, isFinalPrecacheState, unpackStatus } from '@flotilla/api/ran';
import type { UpgradeRef } from '../upgrade/identity.ts';
import type { RolloutState } from '../upgrade/rollout-machine.ts';
import { isEnding, stateOf } from '../upgrade/stage.ts';
import { goesOnWait, nextWait, rolloutWait } from './batch-waits.ts';
import { cleanedWait, cleaningWait, recordedWait, strangerWait } from './ended-waits.ts';
import type { UpgradeFacts } from './facts.ts';
import { bySomebody, type Finding, finding, link } from './finding.ts';
import { hubWait } from './hub-waits.ts';
import { Membership } from './membership.ts';
import { planWait } from './plan-waits.ts';
import { precacheWait } from './precache-waits.ts';
import type { Question } from './question.ts';
import { storedWait } from './stored-wait.ts';

/** Upgrades that are followed behind each other. */
const MOST_UPGRADES = 10;

/** Explanations of a whole upgrade by its state. A state that is added to the machine and forgotten here does not compile. */
const wholes: Readonly<Record<RolloutState, (question: Question, next: () => Finding) => Finding>> = {
  validating: preparingWait,
  preCaching: preparingWait,
  gated: preparingWait,
  preparing: preparingWait,
  batch: preparingWait,
  lookingBack: preparingWait,
  ended: cleaningWait,
  cleaned: cleanedWait,
};

function preparingWait(question: Question, next: () => Finding): Finding {
  return hubWait(question.facts) ?? storedWait(question) ?? planWait(question) ?? next();
}

/** Asks about one upgrade; what many clusters wait for is found once. */
export class Inquiry {
  readonly members: Membership;
  readonly #facts: UpgradeFacts;
  readonly #question: Question;
  readonly #depth: number;
  /** Other upgrades that were asked, by `namespace/name`: thousands of clusters may wait for the same. */
  readonly #others = new Map<string, Inquiry>();
  #whole: Finding | undefined;
  #following: Finding | undefined;
  #isFollowing = false;

  constructor(facts: UpgradeFacts, depth = 0) {
    this.members = new Membership(facts.upgrade);
    this.#facts = facts;
    this.#depth = depth;
    this.#question = {
      facts,
      members: this.members,
      askCluster: (name) => this.cluster(name),
      askUpgrade: (ref, cluster) => this.#askUpgrade(ref, cluster),
    };
  }

  /** With the status that the answers are about. */
  get about(): ClusterGroupUpgrade {
    return this.#facts.upgrade;
  }

  /** Why a cluster waits. The answer is not kept: one has thousands of clusters, and asks for each once. */
  cluster(cluster: string): Finding {
    const question = { ...this.#question, cluster };
    const recorded = recordedWait(question);
    if (recorded) return recorded;
    if (isEnding(this.#facts.upgrade)) return this.upgrade();
    return (
      strangerWait(question) ??
      hubWait(this.#facts) ??
      storedWait(question, cluster) ??
      planWait(question) ??
      precacheWait(question) ??
      rolloutWait(question, () => this.#next())
    );
  }

  /** Why the upgrade as a whole waits. */
  upgrade(): Finding {
    this.#whole ??= wholes[stateOf(this.#facts.upgrade)](this.#question, () => this.#next());
    return this.#whole;
  }

  /** Thousands of clusters ask for it. */
  #next(): Finding {
    // A cluster that waits for its batch is asked what the batch waits for, and would ask again.
    if (this.#isFollowing) return goesOnWait(this.#question);
    this.#isFollowing = true;
    this.#following ??= nextWait(this.#question);
    this.#isFollowing = false;
    return this.#following;
  }

  #askUpgrade(ref: UpgradeRef, cluster: string | undefined): Finding {
    const inquiry = this.#others.get(refKey(ref)) ?? this.#open(ref);
    if (!(inquiry instanceof Inquiry)) return inquiry;
    const job = cluster === undefined ? undefined : inquiry.about.status?.precaching?.status?.[cluster];
    return cluster !== undefined && job !== undefined && !isFinalPrecacheState(job) ? inquiry.cluster(cluster) : inquiry.upgrade();
  }

  /** Opens an inquiry into another upgrade, or says why there is none. */
  #open(ref: UpgradeRef): Inquiry | Finding {
    const seen = this.#facts.upgradeAt(ref);
    if (seen.kind !== 'read' || !seen.object || this.#depth >= MOST_UPGRADES) {
      const why = seen.kind === 'unread' ? seen.why : this.#depth >= MOST_UPGRADES ? 'the upgrades wait for each other' : 'it is not there';
      const evidence = { object: `ClusterGroupUpgrade ${refKey(ref)}`, field: 'status', value: '?', isUnknown: true };
      return finding(
        'gate-blocking',
        link(`why ${refKey(ref)} has not ended is not known: ${why}`, evidence),
        bySomebody(`flotilla why ${ref.name} -n ${ref.namespace}, by somebody who may read it.`),
      );
    }
    const { status } = seen.object;
    const upgrade = status ? { ...seen.object, status: unpackStatus(status) } : seen.object;
    const inquiry = new Inquiry({ ...this.#facts, upgrade }, this.#depth + 1);
    this.#others.set(refKey(ref), inquiry);
    return inquiry;
  }
}

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
  return { upgrade: refKey(upgrade.metadata), ...whose, cause, isCertain, chain: [...links], release, notes: [...notes] };
}
