import type { UpdateError } from '@flotilla/release';
import type { Logger } from '@flotilla/runtime';

/** Says in the log what manifests ended with, each once per change. */
export class RefusalLog {
  readonly #logger: Logger;
  readonly #told = new Map<string, string>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  tell(key: string, task: string, { reason, message }: UpdateError): void {
    if (this.#told.get(key) === message) return;
    this.#told.set(key, message);
    this.#logger.warn({ manifest: task, reason, said: message }, 'A manifest is not as the release has it');
  }

  /** It is as it should be: what comes after is another change. */
  forget(key: string): void {
    this.#told.delete(key);
  }
}
