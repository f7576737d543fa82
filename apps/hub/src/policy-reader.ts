import { refKey } from '@flotilla/api';
import type { Policy } from '@flotilla/api/ocm';
import { type PolicyStructure, readInPieces } from '@flotilla/rollout';

/** Options of `createPolicyReader`. */
interface PolicyReaderOptions {
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
  /** Forgets a policy that is gone. */
  readonly forget: (policy: Policy) => void;
}

interface Reading {
  readonly policy: Policy;
  readonly pieces: ReturnType<typeof readInPieces>;
  readonly size: number;
  readonly waiting: Set<string>;
}

/** Milliseconds of reading per turn of the event loop; larger policies take several turns. */
const SLICE_MS = 20;

/** Creates a reader. Uid and generation identify a policy's content, so a change of its status reads nothing. */
export function createPolicyReader(options: PolicyReaderOptions): PolicyReader {
  const { onRead, talmStrict = false, now = () => performance.now() } = options;
  const known = new Map<string, { readonly generation: number | undefined; readonly structure: PolicyStructure }>();
  const readings = new Map<string, Reading>();
  let spentMs = 0;
  let isTurning = false;

  function read(policy: Policy, waiter: string): PolicyStructure | undefined {
    const { generation } = policy.metadata;
    const before = known.get(keyOf(policy));
    if (before && before.generation === generation) return before.structure;
    const under = readings.get(keyOf(policy));
    const reading = under && under.policy.metadata.generation === generation ? under : begin(policy, under?.waiting);
    const structure = advance(reading);
    if (structure) return structure;
    reading.waiting.add(waiter);
    turnLater();
    return undefined;
  }

  function begin(policy: Policy, waiting = new Set<string>()): Reading {
    const reading = { policy, pieces: readInPieces(policy, talmStrict), size: sizeOf(policy), waiting };
    readings.set(keyOf(policy), reading);
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
    known.set(keyOf(policy), { generation: policy.metadata.generation, structure });
    readings.delete(keyOf(policy));
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

  function forget(policy: Policy): void {
    known.delete(keyOf(policy));
    readings.delete(keyOf(policy));
  }

  return { read, forget };
}

const keyOf = ({ metadata }: Policy): string => metadata.uid ?? refKey(metadata);

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
