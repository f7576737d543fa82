import { errorMessage, FlotillaError } from '@flotilla/api';
import { FeatureGateName, type NotificationState } from '@flotilla/api/managed';
import type { Logger } from '@flotilla/runtime';
import type { OcmClient } from '../clients/ocm.ts';
import type { ConfigSource, Notifier } from '../ports.ts';
import { notifyOcm } from './ocm-notifier.ts';
import { descriptionOf } from './texts.ts';

/** Whom notifications go to. */
export interface NotifierOptions {
  readonly config: Pick<ConfigSource, 'current'>;
  /** OCM, or its agent, at the configured address. */
  readonly ocm: (baseUrl: string) => OcmClient;
  readonly logger: Logger;
}

/** Tells OCM where that is the source of upgrades, else the log (spec/muo 8.3). The configuration counts as it is at each call. */
export function createNotifier({ config, ocm, logger }: NotifierOptions): Notifier {
  return {
    async notify(notification, signal) {
      const { configManager, featureGate } = config.current().config ?? {};
      if (configManager?.source !== 'OCM' || configManager.ocmBaseUrl === undefined) {
        logger.info({ state: notification.state, description: descriptionOf(notification) }, 'Notifying');
        return;
      }
      const serviceLogs = featureGate?.enabled.includes(FeatureGateName.serviceLog) ?? false;
      try {
        await notifyOcm(ocm(configManager.ocmBaseUrl), notification, { serviceLogs, signal });
      } catch (cause) {
        signal.throwIfAborted();
        throw new NotificationError(notification.state, cause);
      }
    },
  };
}

/** Owners could not be told; tried again. Code `FLOTILLA_NOTIFICATION_FAILED`. */
export class NotificationError extends FlotillaError {
  constructor(state: NotificationState, cause: unknown) {
    super('FLOTILLA_NOTIFICATION_FAILED', `can't send notification '${state}': ${errorMessage(cause)}`, { cause });
  }
}
