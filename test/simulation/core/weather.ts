import { createRandom } from '@flotilla/control-plane/simulators';
import type { Clock } from '@flotilla/pace';
import type { Call } from '@flotilla/runtime';
import type { Fate, Weather } from './exchange.ts';
import type { SimulatedProcess } from './process.ts';
import type { Storm, Story } from './story.ts';

const MISHAPS = ['lost', 'unanswered', 'refused', 'throttled', 'cut', 'twice'] as const;

/** Weather of a story: short ways, and mishaps while there is a storm. */
export class StormyWeather implements Weather {
  readonly #random: () => number;
  readonly #storms: readonly Storm[];
  readonly #clock: Clock;
  readonly #start: number;
  readonly #note: (line: string) => void;
  mishaps = 0;
  /** Calls of hubs so far that ask or change something; a lease is renewed and a watch begun again whatever there is to do. */
  asked: string[] = [];

  constructor(story: Story, clock: Clock, note: (line: string) => void) {
    this.#random = createRandom(story.seed, 'weather');
    this.#storms = story.storms;
    this.#clock = clock;
    this.#start = clock.now();
    this.#note = note;
  }

  fateOf(process: SimulatedProcess, call: Call): Fate {
    const random = this.#random;
    const storm = this.#storm();
    const fate = { thereMs: 1 + random() * 10, backMs: 1 + random() * 10 };
    const line = `${process.name} ${call.method} ${call.path}`;
    this.#note(line);
    if (process.name.startsWith('hub') && !/\/leases\/|[?&]watch=/.test(call.path)) this.asked.push(line);
    if (!storm || random() >= storm.mishaps) return fate;
    this.mishaps += 1;
    // A change that is sent twice is the business of proxies that send again what they take for safe.
    const mishap = MISHAPS[Math.floor(random() * MISHAPS.length)] ?? 'lost';
    return { ...fate, mishap: mishap === 'twice' && call.method === 'POST' ? 'cut' : mishap };
  }

  lagOf(): number | undefined {
    const storm = this.#storm();
    if (!storm) return 1 + this.#random() * 20;
    if (this.#random() < storm.breaks) {
      this.mishaps += 1;
      return undefined;
    }
    return 1 + this.#random() * storm.lagMs;
  }

  #storm(): Storm | undefined {
    const ms = this.#clock.now() - this.#start;
    return this.#storms.find(({ from, until }) => ms >= from && ms < until);
  }
}
