/** The server's clock: that of the browser may be wrong, and every age and countdown with it. */
import { computed, signal } from '@preact/signals';

/** The server says its time to the second, and an answer takes a while. */
const JITTER_MS = 3_000;

/** Milliseconds by which the browser's clock is ahead of the server's. */
export const aheadMs = signal(0);
const ticked = signal(Date.now());

/** The server's time, by the second while somebody looks. */
export const now = computed(() => ticked.value - aheadMs.value);

/** The server's time at this moment. */
export const present = (): number => Date.now() - aheadMs.peek();

/** Time goes by. */
export function tick(): void {
  ticked.value = Date.now();
}

/** Takes the time that the server has just said, milliseconds since the epoch. */
export function hearTime(said: number): void {
  const ahead = Date.now() - said;
  aheadMs.value = Math.abs(ahead) < JITTER_MS ? 0 : ahead;
  tick();
}
