import { FlotillaError } from '@flotilla/api';

/** No store could be opened: the message says which was tried, why it failed and what to set. Code `FLOTILLA_QUEUE_STORE_UNAVAILABLE`. */
export class StoreUnavailableError extends FlotillaError {
  constructor(message: string, options?: { cause?: unknown }) {
    super('FLOTILLA_QUEUE_STORE_UNAVAILABLE', message, options);
  }
}
