import { FlotillaError } from '@flotilla/api';

/** No store could be opened: the message names the store, the reason and the setting. Code `FLOTILLA_QUEUE_STORE_UNAVAILABLE`. */
export class StoreUnavailableError extends FlotillaError {
  constructor(message: string, options?: { cause?: unknown }) {
    super('FLOTILLA_QUEUE_STORE_UNAVAILABLE', message, options);
  }
}
