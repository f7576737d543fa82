import type { ClusterOperator, ConfigCondition } from '@flotilla/api/config';
import { type Sample, sampleOf } from './samples.ts';

type Conditions = readonly Pick<ConfigCondition, 'type' | 'status'>[];

/** Counters since the start of the program. */
export class Tallies {
  readonly #transitions = new Map<string, { readonly name: string; readonly condition: string; count: number }>();
  readonly #failures = new Map<string, number>();

  /** Counts what of an operator's conditions has flipped, come or gone. */
  countTransitions(name: string, before: ClusterOperator | undefined, after: ClusterOperator | undefined): void {
    const [old, now] = [statusesOf(before?.status?.conditions ?? []), statusesOf(after?.status?.conditions ?? [])];
    for (const condition of new Set([...old.keys(), ...now.keys()])) {
      if (old.get(condition) === now.get(condition)) continue;
      const key = JSON.stringify([name, condition]);
      const tally = this.#transitions.get(key) ?? { name, condition, count: 0 };
      tally.count += 1;
      this.#transitions.set(key, tally);
    }
  }

  countFailure(version: string): void {
    this.#failures.set(version, (this.#failures.get(version) ?? 0) + 1);
  }

  samples(): Sample[] {
    return [
      ...[...this.#transitions.values()].map(({ name, condition, count }) =>
        sampleOf('cluster_operator_condition_transitions', { name, condition }, count),
      ),
      ...[...this.#failures].map(([version, count]) => sampleOf('cluster_operator_payload_errors', { version }, count)),
    ];
  }
}

const statusesOf = (conditions: Conditions): ReadonlyMap<string, string> => new Map(conditions.map(({ type, status }) => [type, status]));
