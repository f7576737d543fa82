import { errorMessage } from '@flotilla/api';
import { type BackOff, backOffMs, type Clock, pause } from '@flotilla/runtime';
import type { Notification, Notifier } from './ports.ts';
import type { Told } from './steps/step.ts';

interface OutboxDeps {
  readonly notifier: Notifier;
  readonly clock: Clock;
  /** Called when it is worth asking again: told, failed, or due once more. */
  readonly wake: () => void;
  readonly signal: AbortSignal;
}

interface Letter {
  /** Resolves when this try has ended. */
  delivery?: Promise<void>;
  isTold: boolean;
  problem?: string;
  failures: number;
  retryAt: number;
}

/** Longest wait of `tell` for an answer. */
const PATIENCE_MS = 2_000;
/** Between two tries after an error. */
const BACK_OFF: BackOff = { baseMs: 2_000, maxMs: 300_000 };

/** Delivers notifications beside the upgrade: whoever cannot be told holds nothing up, and is told later. */
export class NotificationOutbox {
  readonly #deps: OutboxDeps;
  readonly #letters = new Map<string, Letter>();

  constructor(deps: OutboxDeps) {
    this.#deps = deps;
  }

  /** Begins to tell, unless that is under way, was done or failed a moment ago; resolves soon to how it is. */
  async tell(notification: Notification): Promise<Told> {
    const { clock, signal } = this.#deps;
    const letter = this.#letterOf(notification);
    if (!letter.isTold && !letter.delivery && letter.retryAt <= clock.now()) letter.delivery = this.#deliver(letter, notification);
    if (letter.delivery) await Promise.race([letter.delivery, pause(clock, PATIENCE_MS, signal)]);
    return letter.isTold ? { isTold: true } : { isTold: false, ...(letter.problem !== undefined && { problem: letter.problem }) };
  }

  #letterOf({ upgradeConfig, entry, state }: Notification): Letter {
    const key = `${upgradeConfig.metadata.uid}/${entry.version}/${entry.startTime}/${state}`;
    const letter = this.#letters.get(key) ?? { isTold: false, failures: 0, retryAt: 0 };
    this.#letters.set(key, letter);
    return letter;
  }

  async #deliver(letter: Letter, notification: Notification): Promise<void> {
    const { notifier, clock, signal, wake } = this.#deps;
    const started = clock.now();
    try {
      await notifier.notify(notification, signal);
      letter.isTold = true;
      letter.problem = undefined;
    } catch (error) {
      letter.failures += 1;
      letter.problem = errorMessage(error);
      const delay = backOffMs(BACK_OFF, letter.failures);
      letter.retryAt = clock.now() + delay;
      void pause(clock, delay, signal).then(wake);
    }
    letter.delivery = undefined;
    if (clock.now() - started >= PATIENCE_MS) wake();
  }
}
