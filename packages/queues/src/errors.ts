import { FlotillaError } from '@flotilla/api';

/** No store could be opened: the message says which was tried, why it failed and what to set. Code `FLOTILLA_QUEUE_STORE_UNAVAILABLE`. */
export class StoreUnavailableError extends FlotillaError {
  constructor(message: string, options?: { cause?: unknown }) {
    super('FLOTILLA_QUEUE_STORE_UNAVAILABLE', message, options);
  }
}

/** A run took longer than the queue allows and was aborted; it is tried again. Code `FLOTILLA_STEP_TIMEOUT`. */
export class StepTimeoutError extends FlotillaError {
  constructor(key: string, timeoutMs: number) {
    super('FLOTILLA_STEP_TIMEOUT', `step ${key} did not end within ${timeoutMs} ms`);
  }
}
