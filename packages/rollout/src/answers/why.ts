/** Why a spoke, or an upgrade as a whole, waits: what the hub has stored of it, and what is behind that. Pure. */
import { refKey } from '@flotilla/api';
import type { WhyAnswer } from '@flotilla/api/answers';
import { type ClusterGroupUpgrade, isFinalPrecacheState, unpackStatus } from '@flotilla/api/ran';
import type { UpgradeRef } from '../upgrade/identity.ts';
import { isEnding, stateOf } from '../upgrade/stage.ts';
import { notFound } from '../waits/wait.ts';
import { cleanedWait, cleaningWait, keptOutWait, recordedWait, strangerWait } from './ended.ts';
import { judgeHub, objectOf, statusWrittenAt, type UpgradeFacts } from './facts.ts';
import { bySomebody, type Finding, finding, link, type Question, storedWait } from './finding.ts';
import { Membership } from './membership.ts';
import { precacheWait } from './of-jobs.ts';
import { goesOnWait, nextWait, planWait, rolloutWait } from './of-rollout.ts';

/** Upgrades that are followed behind each other. */
const MOST_UPGRADES = 10;

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
      keptOutWait(question) ??
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
    this.#whole ??= this.#judge();
    return this.#whole;
  }

  #judge(): Finding {
    const state = stateOf(this.#facts.upgrade);
    if (state === 'cleaned') return cleanedWait(this.#question);
    if (state === 'ended') return cleaningWait(this.#question);
    return hubWait(this.#facts) ?? planWait(this.#question) ?? this.#next();
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

/** Nobody decides; undefined while a hub does, or when it is not known. */
function hubWait(facts: UpgradeFacts): Finding | undefined {
  if (facts.hub.kind === 'read' && !facts.hub.object) return unseenHub(facts);
  const { state, renewedAt } = judgeHub(facts.hub, facts.now);
  if (state !== 'silent') return undefined;
  const object = `Lease ${refKey(objectOf(facts.hub)?.metadata ?? { name: '' })}`;
  const evidence = { object, field: 'spec.renewTime', value: renewedAt ?? '(never)', observedAt: renewedAt };
  return silent('no hub decides: nobody renews its Lease', evidence, 'Start the hub, or see its pods and its log; then ask again.');
}

/** A hub may lead by a Lease of another name: one that has just written the status decides. */
function unseenHub(facts: UpgradeFacts): Finding | undefined {
  const observedAt = statusWrittenAt(facts.upgrade);
  if (observedAt !== undefined && facts.now - Date.parse(observedAt) < RECENT_MS) return undefined;
  const evidence = { ...notFound('Lease flotilla-hub'), observedAt };
  const release = 'Start the hub; where it leads by another Lease (--lease-name), see that one.';
  return silent('no hub was found that decides: there is no Lease by which one leads', evidence, release);
}

const silent = (says: string, evidence: Parameters<typeof link>[1], release: string): Finding =>
  finding('hub-silent', link(says, { ...evidence, isUnknown: true }), bySomebody(release), {
    says: 'a hub that decides',
    since: evidence.observedAt,
  });

/** Twice the time within which a hub that works writes of an upgrade that goes on. */
const RECENT_MS = 60_000;
