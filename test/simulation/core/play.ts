import { properties } from '../properties/all.ts';
import type { Property } from '../properties/property.ts';
import { createUpgrade, heal, perform, placePolicies, setLimits } from './acts.ts';
import { TROUBLE_MS } from './random-story.ts';
import type { Story } from './story.ts';
import { type StoredChange, World } from './world.ts';

const MINUTE = 60_000;
/** From the end of all trouble to the end of every upgrade at the latest. */
const LEAST_PATIENCE_MS = 60 * MINUTE;
/** Between the last end and the look at what is left. */
const TIDY_MS = 10 * MINUTE;
/** Rest that is watched at the end. */
const REST_MS = 15 * MINUTE;
/** A run with more is one that does not come to rest. */
const MOST_EVENTS = 200_000;

/** A property that did not hold. */
interface Violation {
  readonly property: string;
  readonly rule: string;
  readonly says: string;
  readonly ms: number;
}

/** Outcome of a run. */
export interface Outcome {
  readonly violation: Violation | undefined;
  readonly events: number;
  readonly mishaps: number;
  /** Simulated milliseconds. */
  readonly ms: number;
  /** Digest of all that happened. */
  readonly trace: string;
}

/** Told of each event that changed the store. */
type OnEvent = (world: World, changes: readonly StoredChange[]) => void;

/** Plays a story to its end, or to the first property that does not hold. */
export async function play(story: Story, onEvent?: OnEvent): Promise<Outcome> {
  using world = new World(story);
  const run = new Run(world, onEvent);
  await run.all();
  const { happened } = world.scheduler;
  return { violation: run.violation, events: happened, mishaps: world.mishaps, ms: world.ms, trace: world.trace() };
}

class Run {
  violation: Violation | undefined;
  readonly #world: World;
  readonly #properties: readonly Property[];
  readonly #onEvent: OnEvent | undefined;

  constructor(world: World, onEvent: OnEvent | undefined) {
    this.#world = world;
    this.#onEvent = onEvent;
    this.#properties = properties(world);
  }

  async all(): Promise<void> {
    const world = this.#world;
    const { story } = world;
    await world.start();
    if (story.limits) await setLimits(world, story.limits);
    for (const upgrade of story.upgrades) await placePolicies(world, upgrade);
    await this.#until(() => false, world.ms + 5_000);
    const begin = world.ms;
    const script = [
      ...story.upgrades.map((upgrade) => ({ at: upgrade.at, does: () => createUpgrade(world, upgrade) })),
      ...story.acts.map((act) => ({ at: act.at, does: () => perform(world, act) })),
    ].toSorted((a, b) => a.at - b.at);
    for (const { at, does } of script) {
      if (await this.#until(() => false, begin + at)) return;
      await does();
    }
    const quiet = story.storms.map(({ until }) => until);
    const healAt = story.acts.length + quiet.length > 0 ? Math.max(TROUBLE_MS, ...quiet) : begin;
    if (await this.#until(() => false, healAt)) return;
    await heal(world);
    await this.#toTheEnd();
  }

  async #toTheEnd(): Promise<void> {
    const world = this.#world;
    const patience = LEAST_PATIENCE_MS + world.story.upgrades.reduce((sum, { timeoutMinutes }) => sum + 2 * timeoutMinutes * MINUTE, 0);
    const hasEnded = () => this.#properties.every((property) => property.isOver?.() ?? true);
    if (await this.#until(hasEnded, world.ms + patience)) return;
    this.#judge('end');
    if (await this.#until(() => false, world.ms + TIDY_MS)) return;
    this.#judge('tidy');
    if (this.violation) return;
    for (const property of this.#properties) property.rests?.();
    if (await this.#until(() => false, world.ms + REST_MS)) return;
    this.#judge('rest');
  }

  /** Lets events happen until this is so, or it is that late. True when a property did not hold. */
  async #until(isSo: () => boolean, ms: number): Promise<boolean> {
    const world = this.#world;
    using _wake = world.scheduler.setTimer(ms - world.ms, () => undefined);
    while (world.ms < ms && !this.violation) {
      if (world.scheduler.happened > MOST_EVENTS) {
        this.violation = { property: 'comes to rest', rule: '', says: `${MOST_EVENTS} events`, ms: world.ms };
        break;
      }
      await world.scheduler.step();
      this.#look();
      if (isSo()) break;
    }
    return this.violation !== undefined;
  }

  #look(): void {
    const world = this.#world;
    const { changes, crashes } = world;
    if (crashes.length > 0)
      this.violation = { property: 'no crash', rule: 'a hub ends when it is told to', says: String(crashes[0]), ms: world.ms };
    if (changes.length === 0) return;
    world.changes = [];
    for (const property of this.#properties) this.#note(property, property.look(changes));
    this.#onEvent?.(world, changes);
  }

  #judge(when: 'end' | 'tidy' | 'rest'): void {
    for (const property of this.#properties) this.#note(property, property[when]?.());
  }

  #note({ name, rule }: Property, says: string | undefined): void {
    if (says !== undefined) this.violation ??= { property: name, rule, says, ms: this.#world.ms };
  }
}
