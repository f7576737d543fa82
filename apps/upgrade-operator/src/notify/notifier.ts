import { errorMessage, FlotillaError } from '@flotilla/api';
import { FeatureGateName, type NotificationState, UpgradeConfig } from '@flotilla/api/managed';
import { type EventToRecord, eventSubject, type Logger } from '@flotilla/runtime';
import type { OcmClient } from '../clients/ocm.ts';
import type { ConfigSource, Notification, Notifier } from '../ports.ts';
import { notifyOcm } from './ocm-notifier.ts';
import { descriptionOf } from './texts.ts';

interface NotifierOptions {
  readonly config: Pick<ConfigSource, 'current'>;
  /** OCM, or its agent, at the configured address. */
  readonly ocm: (baseUrl: string) => OcmClient;
  /** Records what was told as an event of the UpgradeConfig. Default: nowhere. */
  readonly record?: (event: EventToRecord) => void;
  readonly logger: Logger;
}

/** Tells OCM where that is the source of upgrades, else the log (spec/muo 8.3). The configuration counts as it is at each call. */
export function createNotifier({ config, ocm, record, logger }: NotifierOptions): Notifier {
  async function tell(notification: Notification, signal: AbortSignal): Promise<void> {
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
  }
  return {
    async notify(notification, signal) {
      await tell(notification, signal);
      record?.(eventOf(notification));
    },
  };
}

/** States that ask for somebody's attention. */
const WARNINGS: ReadonlySet<NotificationState> = new Set([
  'StateDelayed',
  'StateScaleSkipped',
  'StateSkipped',
  'StateFailed',
  'StateHealthCheckSL',
  'StatePreHealthCheckSL',
]);

/** Builds the event that shows a notification beside the UpgradeConfig. */
function eventOf(notification: Notification): EventToRecord {
  const { state, upgradeConfig } = notification;
  return {
    type: WARNINGS.has(state) ? 'Warning' : 'Normal',
    reason: state.replace(/^State/, 'Upgrade').replace(/SL$/, ''),
    action: 'Notify',
    note: descriptionOf(notification),
    regarding: eventSubject(UpgradeConfig, upgradeConfig),
  };
}

/** Owners could not be told; tried again. Code `FLOTILLA_NOTIFICATION_FAILED`. */
class NotificationError extends FlotillaError {
  constructor(state: NotificationState, cause: unknown) {
    super('FLOTILLA_NOTIFICATION_FAILED', `can't send notification '${state}': ${errorMessage(cause)}`, { cause });
  }
}
