/** Records minute by minute the notifications, metrics and silences of an operator, for tests. */
import type { NotificationState } from '@flotilla/api/managed';
import { Registry } from 'prom-client';
import { createOperatorMetrics, type OperatorMetrics } from '../../src/metrics/upgrade-metrics.ts';
import type { Notifier } from '../../src/ports.ts';
import type { MemoryAlertmanager } from '../memory-alertmanager.ts';

/** One thing that became otherwise. */
export interface Row {
  /** Day, hour and minute. */
  readonly time: string;
  readonly what: 'notification' | 'silence' | 'metric';
  readonly value: string;
}

/** A row as it is compared and shown. */
export const rowText = ({ time, what, value }: Row): string => `${time}  ${what.padEnd(12)}  ${value}`;

/** Day and minute of a moment. */
export function timeText(ms: number): string {
  const days = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
  const at = new Date(ms);
  return `${days[at.getUTCDay()]} ${at.toISOString().slice(11, 16)}`;
}

/** These say the same as the row of the notification, which is refused without them. */
const OF_NOTIFICATIONS = ['upgrade_notification', 'upgrade_notification_failed'];
/** Prefix of nearly all names; rows leave it out. */
const PREFIX = 'upgradeoperator_';
/** A moment has a gauge of its own: its value is told as a time. */
const isMoment = (name: string): boolean => name.endsWith('_timestamp');

/** Looks each minute, and keeps what is otherwise than before. */
export class Recorder {
  readonly rows: Row[] = [];
  readonly metrics: OperatorMetrics;
  readonly notifier: Notifier;
  readonly #registry = new Registry();
  readonly #told: { readonly state: NotificationState; readonly version: string }[] = [];
  readonly #series = new Map<string, string>();
  readonly #silences = new Map<string, { readonly text: string; readonly endsAt: string; isOver: boolean }>();

  constructor() {
    this.metrics = createOperatorMetrics(this.#registry, () => 'cluster');
    this.notifier = {
      notify: async ({ state, entry }) => void this.#told.push({ state, version: entry.version ?? '' }),
    };
  }

  /** @param nowMs of the operator */
  async look(alertmanager: MemoryAlertmanager, nowMs: number): Promise<void> {
    const time = timeText(nowMs);
    const series = await this.#read();
    for (const { state, version } of this.#told.splice(0)) {
      const sent = series.get(`upgrade_notification ${state} ${version}`);
      const failed = series.get(`upgrade_notification_failed ${state}`);
      // Those of an upgrade that was given up go with it.
      const isMeasured = state === 'StateFailed' || (sent === '1' && failed === '0');
      this.#add(time, 'notification', `${state} ${version}${isMeasured ? '' : ` (sent=${sent}, failed=${failed})`}`);
    }
    this.#lookAtSilences(alertmanager, time);
    for (const [name, value] of [...series].toSorted(([a], [b]) => (a < b ? -1 : 1)))
      if (this.#series.get(name) !== value && !OF_NOTIFICATIONS.some((each) => name.startsWith(each)))
        this.#add(time, 'metric', `${name} = ${value}`);
    const own = [...this.#series.keys()].filter((name) => !OF_NOTIFICATIONS.some((each) => name.startsWith(each))).toSorted();
    const gone = own.filter((name) => !series.has(name));
    const left = own.filter((name) => series.has(name));
    // With the UpgradeConfig everything goes but how upgrades ended.
    const isAll = gone.includes('upgrade_window_breached') && left.every((name) => /^upgrade_result|^upgradeconfig_/.test(name));
    if (gone.length > 0) this.#add(time, 'metric', `gone: ${isAll ? 'all of the UpgradeConfig' : gone.join(', ')}`);
    this.#series.clear();
    for (const [name, value] of series) this.#series.set(name, value);
  }

  #add(time: string, what: Row['what'], value: string): void {
    this.rows.push({ time, what, value });
  }

  #lookAtSilences(alertmanager: MemoryAlertmanager, time: string): void {
    for (const { id, comment, endsAt, status } of alertmanager.peek()) {
      const text = comment.replace(/^Silence for /, '');
      const known = this.#silences.get(id) ?? { text, endsAt, isOver: false };
      if (!this.#silences.has(id)) this.#add(time, 'silence', `${text}: until ${timeText(Date.parse(endsAt))}`);
      else if (status.state !== 'expired' && known.endsAt !== endsAt)
        this.#add(time, 'silence', `${text}: now until ${timeText(Date.parse(endsAt))}`);
      const isOver = status.state === 'expired';
      if (isOver && !known.isOver) this.#add(time, 'silence', `${text}: ${known.endsAt === endsAt ? 'ran out' : 'ended'}`);
      this.#silences.set(id, { text, endsAt, isOver });
    }
  }

  /** Series by name and what tells them apart. */
  async #read(): Promise<Map<string, string>> {
    const series = new Map<string, string>();
    for (const { name, values } of await this.#registry.getMetricsAsJSON())
      for (const { labels, value } of values) {
        const own = Object.entries(labels).filter(([label]) => label !== 'upgradeconfig_name' && label !== '_id');
        const key = [name.replace(PREFIX, ''), ...own.map(([, text]) => text).filter((text) => text !== '')].join(' ');
        series.set(key, isMoment(name) ? timeText(value * 1000) : String(value));
      }
    return series;
  }
}
