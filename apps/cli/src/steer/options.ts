import { z } from 'zod';
import { access, hub, json, namespace, writing } from '../hub/options.ts';
import { flag, option } from '../option.ts';

const steering = { ...namespace, ...writing, ...json, ...hub, ...access };
/** Options of commands that change a ClusterGroupUpgrade. */
export const SteerOptions = z.object(steering);
export type SteerOptions = z.output<typeof SteerOptions>;
/** Options of `unhold`. */
export const ClusterOptions = z.object({ ...writing, ...json, ...access });
export type ClusterOptions = z.output<typeof ClusterOptions>;

/** Why, as whoever looks later reads it; annotations of an object have 256 KiB together. */
export const Reason = z
  .string()
  .trim()
  .min(1, { error: 'is empty: say why, or leave it out' })
  .max(500, { error: 'is longer than 500 characters: say it shorter' });
const reason = { reason: option('<text>', Reason.optional(), 'why, for whoever looks') };

/** Options of `pause`. */
export const PauseOptions = z.object({ now: flag('stop pulls that run, too; they begin again after resume'), ...reason, ...steering });
/** Options of `retry`. */
export const RetryOptions = z.object({ failed: flag('all that failed, as without clusters'), ...steering });
/** Options of `hold`. */
export const HoldOptions = z.object({ ...reason, ...ClusterOptions.shape });
/** Options of `window show`. */
export const ShowOptions = z.object({ ...namespace, ...json, ...access });

const part = z.string().min(1, { error: 'is empty: leave it out to have none' }).optional();
/** Options of `window set`. */
export const SetOptions = z.object({
  start: option('<time>', part, 'from then on, RFC 3339 with zone, as in 2026-12-05T22:00:00+01:00'),
  end: option('<time>', part, 'until then'),
  schedule: option('<cron>', part, 'openings of windows that recur: five cron fields, as in "0 22 * * 6"'),
  duration: option('<time>', part, 'how long each is open, such as 4h; between 15m and 168h'),
  timezone: option('<zone>', part, 'IANA zone of the schedule, such as Europe/Berlin (default UTC)'),
  ...steering,
});
