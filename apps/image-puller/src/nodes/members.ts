/** Nodes of one run as the lead knows them: what is expected, who has come, and the sums. Pure but for its memory. */
import { cutInMiddle, MAX_FAILED_NODES, MAX_RISKS, type NodesProgress, PullerExit, type PullerReport } from '@flotilla/api/ran';
import type { ListedNode } from './expected-nodes.ts';
import type { Peer } from './peer-blobs.ts';

/** Expected nodes by name, or where they cannot be listed their number. */
export type Expected = ({ readonly nodes: readonly Pick<ListedNode, 'name' | 'uid'>[] } | { readonly count: number }) & {
  /** Says that the cluster makes no pods for some of them. */
  readonly refusal?: string | undefined;
};

/** A node whose puller has come. */
export interface Member {
  /** Uid of the node; its name where its token tells no uid. */
  readonly id: string;
  readonly name: string;
  /** Public key of its process. */
  readonly identity: string;
  /** Where its blobs are. */
  peer: Peer | undefined;
  /** Its store is open. */
  isOpen: boolean;
  seenAt: number;
  isSilent: boolean;
  hasHeardEnd: boolean;
  report: PullerReport | undefined;
  exitCode: number | undefined;
}

/** A node that has everything. */
export interface FilledNode {
  readonly name: string;
  readonly uid?: string;
}

type Verdict = 'pulling' | 'done' | 'failed' | 'absent';
interface JudgedNode {
  readonly name: string;
  readonly verdict: Verdict;
  readonly message: string | undefined;
  readonly report: PullerReport | undefined;
}

/** Milliseconds without a word after which a node is silent: nobody is sent to it, and it may have left the cluster. */
export const SILENT_MS = 12_000;
const MAX_TEXT = 256;
/** Milliseconds after which a node that is waited for is named. */
const NAMED_AFTER_MS = 30_000;
const NO_NODES: Expected = { nodes: [] };
const UNNAMED = 'a node whose name is not known here';

/** Members of a run besides the lead's own node. */
export class Members {
  readonly #own: string;
  readonly #patienceMs: number;
  readonly #since: number;
  readonly #byId = new Map<string, Member>();
  readonly #byIdentity = new Map<string, Member>();
  /** First time that an expected node was listed. */
  readonly #listedAt = new Map<string, number>();
  /** Times at which the count rose to each of its nodes, where they cannot be listed. */
  #countedAt: readonly number[] = [];
  /** Why expected nodes were not let in, by their names. */
  readonly #refusals = new Map<string, string>();
  #expected = NO_NODES;
  #isKnown = false;

  constructor(options: { readonly ownName: string; readonly patienceMs: number; readonly now: number }) {
    this.#own = options.ownName;
    this.#patienceMs = options.patienceMs;
    this.#since = options.now;
  }

  get all(): Iterable<Member> {
    return this.#byId.values();
  }

  /** Takes in a node's process. One that has joined before keeps its place and its last word. */
  join(process: Pick<Member, 'id' | 'name' | 'identity' | 'peer' | 'isOpen'>, now: number): Member {
    const before = this.#byId.get(process.id);
    const { peer, report, exitCode } = before?.identity === process.identity ? before : {};
    const member = { ...process, peer: process.peer ?? peer, seenAt: now, isSilent: false, hasHeardEnd: false, report, exitCode };
    this.#refusals.delete(this.#knownAs(process.name));
    if (before) this.#byIdentity.delete(before.identity);
    this.#byId.set(member.id, member);
    this.#byIdentity.set(member.identity, member);
    return member;
  }

  /** Remembers why an expected node is not let in. A stranger may give any name, so no other is remembered. */
  refuse(name: string, refusal: string): void {
    const known = this.#knownAs(name);
    if ('count' in this.#expected || this.#expected.nodes.some((node) => node.name === known)) this.#refusals.set(known, refusal);
  }

  /** Name by which a missing node is judged. */
  #knownAs(name: string): string {
    return 'count' in this.#expected ? UNNAMED : name;
  }

  find(id: string): Member | undefined {
    return this.#byId.get(id);
  }

  /** Member whose process has this identity. */
  of(identity: string): Member | undefined {
    return this.#byIdentity.get(identity);
  }

  get isKnown(): boolean {
    return this.#isKnown;
  }

  expect(expected: Expected, now: number): void {
    this.#expected = expected;
    this.#isKnown = true;
    if ('nodes' in expected) for (const { uid } of expected.nodes) if (!this.#listedAt.has(uid)) this.#listedAt.set(uid, now);
    if ('count' in expected)
      this.#countedAt = Array.from({ length: Math.max(0, expected.count - 1) }, (_, index) => this.#countedAt[index] ?? now);
  }

  /** True for a member that is among the expected nodes, as far as they can be listed. */
  expects({ id, name }: Pick<Member, 'id' | 'name'>): boolean {
    const expected = this.#expected;
    if ('count' in expected) return this.#byId.size < expected.count;
    return expected.nodes.some((node) => node.uid === id || node.name === name);
  }

  /** True for a silent member that is waited for no longer. */
  isGone(member: Pick<Member, 'id' | 'name' | 'seenAt'>, now: number): boolean {
    const silentMs = now - member.seenAt;
    return silentMs > this.#patienceMs || (silentMs > SILENT_MS && this.#isKnown && !this.expects(member));
  }

  /** True once every expected node has come with its store open. */
  areGathered(now: number): boolean {
    return this.#isKnown && this.judge(now).every(({ verdict, isOpen }) => verdict !== 'pulling' || isOpen);
  }

  /** Judges every node besides the lead's own, by identity: a node that is not expected any more counts for nothing. */
  judge(now: number): (JudgedNode & { readonly isOpen: boolean })[] {
    const expected = this.#expected;
    if (!this.#isKnown) {
      const unknown = this.#judgeMissing('whichever nodes there are besides', this.#since, now);
      return [...[...this.#byId.values()].map((member) => this.#judgeMember(member, now)), unknown];
    }
    if ('count' in expected) return this.#judgeCounted(now);
    return expected.nodes
      .filter(({ name }) => name !== this.#own)
      .map(({ name, uid }) => {
        const member = this.#byId.get(uid) ?? this.#byId.get(name);
        return member ? this.#judgeMember(member, now) : this.#judgeMissing(name, this.#listedAt.get(uid) ?? this.#since, now);
      });
  }

  /**
   * Judges nodes that can only be counted. A silent one may have left, and another may come instead. It keeps a place that nobody takes, and is waited for
   * there, whatever its last word was.
   */
  #judgeCounted(now: number) {
    const all = [...this.#byId.values()].toSorted((a, b) => b.seenAt - a.seenAt);
    const heard = all.filter(({ seenAt }) => now - seenAt <= SILENT_MS);
    const missing = this.#countedAt.slice(heard.length).map((since, index) => {
      const silent = all[heard.length + index];
      return silent && silent.seenAt >= since
        ? this.#judgeMember({ ...silent, exitCode: undefined, isOpen: false }, now)
        : this.#judgeMissing(UNNAMED, since, now);
    });
    return [...heard.map((member) => this.#judgeMember(member, now)), ...missing];
  }

  /** Nodes that have everything, by their last word. A uid is what the node's token says; a node whose token says none has none. */
  filled(now: number): FilledNode[] {
    return this.judge(now)
      .filter(({ verdict }) => verdict === 'done')
      .map(({ name }) => {
        const id = [...this.#byId.values()].find((member) => member.name === name && member.exitCode === PullerExit.done)?.id;
        return id === undefined || id === name ? { name } : { name, uid: id };
      });
  }

  #judgeMember({ name, report, exitCode, seenAt, isOpen }: Member, now: number) {
    const node = { name, report, isOpen };
    if (exitCode === PullerExit.done) return { ...node, verdict: 'done' as const, message: undefined };
    if (exitCode !== undefined)
      return { ...node, verdict: 'failed' as const, message: report?.message ?? `its pull ended with ${exitCode}` };
    const why = because(this.#refusals.get(name));
    if (now - seenAt > this.#patienceMs) return { ...node, verdict: 'absent' as const, message: `${silence(now - seenAt)}${why}` };
    return { ...node, verdict: 'pulling' as const, message: now - seenAt > NAMED_AFTER_MS ? `no word from its puller${why}` : undefined };
  }

  #judgeMissing(name: string, since: number, now: number) {
    const isAbsent = now - since > this.#patienceMs;
    const node = { name, report: undefined, isOpen: false };
    const seconds = Math.round((now - since) / 1_000);
    const refusal = this.#refusals.get(name);
    const [gone, late] =
      refusal === undefined
        ? [`no puller has come from it for ${seconds} s`, 'its puller has not come yet']
        : [`its puller has not been let in for ${seconds} s`, 'its puller has not been let in yet'];
    const why = because(refusal ?? this.#expected.refusal);
    return isAbsent
      ? { ...node, verdict: 'absent' as const, message: `${gone}${why}` }
      : { ...node, verdict: 'pulling' as const, message: now - since > NAMED_AFTER_MS ? `${late}${why}` : undefined };
  }
}

const because = (cause: string | undefined): string => (cause === undefined ? '' : `: ${cause}`);
const silence = (ms: number): string => `no word from its puller for ${Math.round(ms / 1_000)} s`;

/** Says in a sentence which of all nodes are not as they should be. */
export function describeFailed(failed: readonly JudgedNode[], total: number, goal: string): string {
  const shown = failed.slice(0, 3).map(({ name, message }) => `${name}: ${message}`);
  const more = failed.length > shown.length ? `; and ${failed.length - shown.length} more` : '';
  return `${failed.length} of ${total} nodes are not ${goal}: ${shown.join('; ')}${more}`;
}

/** Sums the lead's own report and those of the other nodes. */
export function sumReports(own: PullerReport, ownName: string, others: readonly JudgedNode[]): PullerReport {
  const ownVerdict: Verdict = own.phase === 'done' ? 'done' : own.phase === 'failed' ? 'failed' : 'pulling';
  const nodes: readonly JudgedNode[] = [{ name: ownName, verdict: ownVerdict, message: own.message, report: own }, ...others];
  const sum = (field: 'imagesDone' | 'imagesTotal' | 'bytesDone' | 'bytesTotal' | 'bytesPerSecond'): number =>
    nodes.reduce((total, { report }) => total + (report?.[field] ?? 0), 0);
  const isUnderWay = ownVerdict === 'done' && others.some(({ verdict }) => verdict === 'pulling');
  return {
    ...own,
    ...(isUnderWay && { phase: 'pulling' }),
    imagesDone: sum('imagesDone'),
    imagesTotal: sum('imagesTotal'),
    bytesDone: sum('bytesDone'),
    bytesTotal: sum('bytesTotal'),
    bytesPerSecond: sum('bytesPerSecond'),
    ...sumRisks(nodes),
    nodes: sumNodes(nodes),
  };
}

/** Risks of all nodes, each with its node; a report has room for a few. */
function sumRisks(nodes: readonly JudgedNode[]): Pick<PullerReport, 'risks'> {
  const all = nodes.flatMap(({ name, report }) => (report?.risks ?? []).map((risk) => ({ ...risk, node: name })));
  return all.length > 0 ? { risks: all.slice(0, MAX_RISKS) } : {};
}

function sumNodes(nodes: readonly JudgedNode[]): NodesProgress {
  const count = (wanted: Verdict): number => nodes.filter(({ verdict }) => verdict === wanted).length;
  const left = ({ report }: JudgedNode): number => (report ? report.bytesTotal - report.bytesDone : 0);
  const [slowest] = nodes.filter(({ verdict, report }) => verdict === 'pulling' && report).toSorted((a, b) => left(b) - left(a));
  const isOver = ({ verdict }: JudgedNode): boolean => verdict === 'failed' || verdict === 'absent';
  const awaited = nodes.filter(({ verdict, message }) => verdict === 'pulling' && message !== undefined);
  const problems = [...nodes.filter(isOver), ...awaited].map(({ name, message }) => ({
    node: name,
    message: cutInMiddle(message ?? 'no reason given', MAX_TEXT).slice(0, MAX_TEXT),
  }));
  return {
    total: nodes.length,
    done: count('done'),
    failed: count('failed'),
    absent: count('absent'),
    ...(slowest?.report && {
      slowest: { node: slowest.name, bytesDone: slowest.report.bytesDone, bytesTotal: slowest.report.bytesTotal },
    }),
    ...(problems.length > 0 && { problems: problems.slice(0, MAX_FAILED_NODES) }),
  };
}
