import { refKey } from '@flotilla/api';
import type { Policy } from '@flotilla/api/ocm';
import { type PolicyStructure, readInPieces } from '@flotilla/rollout';
import type { WatchCache } from '@flotilla/runtime';

/** Options of `createPolicyReader`. */
interface PolicyReaderOptions {
  /** Policies that go are forgotten. */
  readonly policies: Pick<WatchCache<Policy>, 'subscribe'>;
  /** Read as the reference does; default false. */
  readonly talmStrict?: boolean;
  /** Receives each waiter of a policy that has been read. */
  readonly onRead: (waiter: string) => void;
  /** Milliseconds since any moment; default the system's clock. */
  readonly now?: () => number;
}

/** Reads each generation of a policy once. */
export interface PolicyReader {
  /**
   * Returns the structure of a policy, or undefined while it is read in several turns of the event loop.
   * @param waiter passed to `onRead`
   */
  readonly read: (policy: Policy, waiter: string) => PolicyStructure | undefined;
}

interface Reading {
  readonly policy: Policy;
  readonly pieces: ReturnType<typeof readInPieces>;
  readonly size: number;
  readonly waiting: Set<string>;
}

/** Milliseconds of reading per turn of the event loop; larger policies take several turns. */
const SLICE_MS = 20;

/** Creates a reader. Uid and generation tell contents of a policy apart, so a change of its status reads nothing. */
export function createPolicyReader(options: PolicyReaderOptions): PolicyReader {
  const { policies, onRead, talmStrict = false, now = () => performance.now() } = options;
  const known = new Map<string, { readonly content: Content; readonly structure: PolicyStructure }>();
  const readings = new Map<string, Reading>();
  let spentMs = 0;
  let isTurning = false;

  function read(policy: Policy, waiter: string): PolicyStructure | undefined {
    const key = refKey(policy.metadata);
    const before = known.get(key);
    if (before && isSameContent(before.content, policy.metadata)) return before.structure;
    const under = readings.get(key);
    const reading = under && isSameContent(under.policy.metadata, policy.metadata) ? under : begin(policy, under?.waiting);
    const structure = advance(reading);
    if (structure) return structure;
    reading.waiting.add(waiter);
    turnLater();
    return undefined;
  }

  function begin(policy: Policy, waiting = new Set<string>()): Reading {
    const reading = { policy, pieces: readInPieces(policy, talmStrict), size: sizeOf(policy), waiting };
    readings.set(refKey(policy.metadata), reading);
    return reading;
  }

  /** Reads as many pieces as this turn of the event loop allows. */
  function advance(reading: Reading): PolicyStructure | undefined {
    while (spentMs < SLICE_MS) {
      const since = now();
      const { done, value } = reading.pieces.next();
      spentMs += now() - since;
      if (done) return finish(reading, value);
    }
    // A reading that has used up the turn goes on in the next one.
    turnLater();
    return undefined;
  }

  function finish({ policy, waiting }: Reading, structure: PolicyStructure): PolicyStructure {
    const { uid, generation } = policy.metadata;
    known.set(refKey(policy.metadata), { content: { uid, generation }, structure });
    readings.delete(refKey(policy.metadata));
    for (const waiter of waiting) onRead(waiter);
    return structure;
  }

  function turnLater(): void {
    if (isTurning) return;
    isTurning = true;
    setImmediate(() => {
      isTurning = false;
      spentMs = 0;
      // Small policies go first, so that a large one delays only itself.
      for (const reading of [...readings.values()].toSorted((a, b) => a.size - b.size)) if (!advance(reading)) break;
      if (readings.size > 0) turnLater();
    });
  }

  policies.subscribe(({ type, object: { metadata } }) => {
    if (type !== 'deleted') return;
    known.delete(refKey(metadata));
    readings.delete(refKey(metadata));
  });
  return { read };
}

/** Tells contents of policies of one name apart. */
type Content = Pick<Policy['metadata'], 'uid' | 'generation'>;

const isSameContent = (one: Content, other: Content): boolean => one.uid === other.uid && one.generation === other.generation;

/** Characters of the raw templates, which are slow to read. */
function sizeOf({ spec }: Policy): number {
  const templates: unknown = spec?.['policy-templates'];
  if (!Array.isArray(templates)) return 0;
  return templates.reduce<number>((sum, template: unknown) => sum + rawLength(template), templates.length);
}

function rawLength(template: unknown): number {
  const raw = ['objectDefinition', 'spec', 'object-templates-raw'].reduce<unknown>(
    (value, key) => (typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined),
    template,
  );
  return typeof raw === 'string' ? raw.length : 0;
}
