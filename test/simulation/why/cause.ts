/** One cause of a wait: how it comes about, what `why` has to say of it first, and the advice that ends it. */
import type { WaitCause } from '@flotilla/api/answers';
import type { Scene } from './scene.ts';

/** Facts about a case by which places differ. */
interface Beside {
  /** There is a pull before the rollout. */
  readonly precaches: boolean;
  /** Another cluster waits for something that is as bad or worse than all that is blocked. */
  readonly isOtherSilent: boolean;
}

/** A row of the table. */
export interface Cause {
  readonly name: string;
  /** Parts of the world that it takes: two that share one exclude each other, unless they are of different clusters. */
  readonly slots: readonly string[];
  readonly isOfCluster?: true;
  /** Place among causes: the least is named first, whichever is named of equal ones. */
  readonly place: number | ((beside: Beside) => number);
  /** Fields of the upgrade's spec, and its annotations, that it comes about by. */
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** The policy is placed only by the one who follows the advice. */
  readonly isWithoutPolicy?: true;
  readonly begin?: (scene: Scene, cluster: number) => unknown;
  readonly want: { readonly cause: WaitCause; readonly says: RegExp };
  readonly advice: RegExp;
  /** Does what the advice says, or what ends it by itself. */
  readonly follow: (scene: Scene, cluster: number) => unknown;
  /** Its evidence is of its own, and so many seconds older than the cause, from and to; that of the others is what a hub that leads has written. */
  readonly dated?: readonly [number, number];
}
