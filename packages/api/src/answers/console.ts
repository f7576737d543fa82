/** Messages between the console's page and its server. */
import { z } from 'zod';
import { PrecacheState } from '../ran/precache.ts';
import { HubSign, StatusAnswer } from './status.ts';
import { WaitCause } from './why.ts';

/** A ClusterGroupUpgrade as a row. */
export const UpgradeRow = z.object({
  key: z.string().describe('namespace/name.'),
  ...StatusAnswer.pick({ stage: true, says: true, batch: true, window: true, clusters: true, waits: true, failures: true }).shape,
  cached: StatusAnswer.shape.cached.unwrap().nullable().describe('Pre-caching; null for an upgrade without.'),
  ends: StatusAnswer.shape.ends.unwrap().nullable().describe('Expected end; null before the start and after the end.'),
  batches: z.array(z.int()).describe('Clusters of each batch, in order.'),
  edits: StatusAnswer.shape.edits.unwrap().nullable().describe('Edits of the spec that the rest is not about; null where there are none.'),
  paused: StatusAnswer.shape.paused.unwrap().nullable().describe('Why it is paused; null where it is not.'),
  writtenAt: z.string().nullable().describe('When a hub wrote its status last.'),
});
export type UpgradeRow = z.output<typeof UpgradeRow>;

/** Progress of a spoke in an upgrade, in a word. */
export const SpokeState = z.enum(['done', 'failed', 'in-batch', 'waiting', 'none']);
export type SpokeState = z.output<typeof SpokeState>;

/** A spoke's part in one upgrade. */
export const MemberRow = z.object({
  key: z.string().describe('The spoke.'),
  state: SpokeState.describe('none: it is in no upgrade.'),
  batch: z.int().nullable().describe('From 1; null without a plan.'),
  cached: PrecacheState.nullable().describe('Its pre-caching; null for an upgrade without.'),
  cause: WaitCause.nullable().describe('What it waits for, or why it failed; null where nothing is waited for.'),
  says: z.string().nullable().describe('The same as a sentence.'),
});
export type MemberRow = z.output<typeof MemberRow>;

/** A spoke as a row, with its part in one upgrade: a failure that no retry has taken up, else the latest that goes on. */
export const SpokeRow = MemberRow.extend({
  upgrade: z.string().nullable().describe('That upgrade, namespace/name.'),
  version: z.string().nullable().describe('Version that the spoke reports.'),
  available: z.enum(['yes', 'no', 'unknown']).describe('unknown: the agent has gone silent, or was never heard.'),
  availableSince: z.string().nullable().describe('Since when that is so.'),
  hold: z.string().nullable().describe('Why it is held; null where it is not.'),
});
export type SpokeRow = z.output<typeof SpokeRow>;

/** Changes of a table: new rows in full, of others the cells that changed. */
const changesOf = <T extends z.ZodRawShape & { key: z.ZodString }>(row: z.ZodObject<T>) =>
  z.object({
    isWhole: z.boolean().describe('There are no rows but these.'),
    rows: z.array(row).describe('Rows in full.'),
    cells: z.array(z.object({ key: z.string() }).and(row.partial())).describe('Changed cells of rows that are there.'),
    gone: z.array(z.string()).describe('Keys of rows that are no more.'),
  });

/** Sentences on what the asker may not do; null for what is allowed. */
export const Rights = z.object({
  upgrades: z.string().nullable().describe('To read upgrades.'),
  spokes: z.string().nullable().describe('To read spokes.'),
  lease: z.string().nullable().describe('To see whether a hub leads.'),
  steerUpgrades: z.string().nullable().describe('To pause, resume, try again and set windows.'),
  steerSpokes: z.string().nullable().describe('To hold and unhold.'),
});
export type Rights = z.output<typeof Rights>;

/** One message of the stream; an absent part has not changed. */
export const StreamMessage = z.object({
  server: z.string().optional().describe('The API server that is looked at.'),
  viewer: z.string().optional().describe('Name by which that server knows the asker.'),
  rights: Rights.optional().describe('What the asker may do.'),
  hub: HubSign.optional().describe('Whether a hub decides now.'),
  unseen: z.array(z.string()).optional().describe('Kinds whose watch is broken and upgrades that cannot be shown, a sentence each.'),
  upgrades: changesOf(UpgradeRow).optional().describe('Changes of upgrades.'),
  spokes: changesOf(SpokeRow).optional().describe('Changes of spokes.'),
  members: z
    .object({ upgrade: z.string().describe('The upgrade.'), changes: changesOf(MemberRow).describe('Changes of its members.') })
    .optional()
    .describe('Changes of members of the upgrade that the page looks at.'),
});
export type StreamMessage = z.output<typeof StreamMessage>;

const Happening = z.object({
  at: z.string().nullable().describe('When.'),
  reason: z.string().describe('Its reason.'),
  note: z.string().describe('Its text.'),
  isWarning: z.boolean().describe('Of type Warning.'),
});

/** Events of an upgrade, the newest first. */
export const EventsAnswer = z.object({ events: z.array(Happening).describe('At most fifty.') });
export type EventsAnswer = z.output<typeof EventsAnswer>;

/** Something of a managed upgrade that is done, or is not. */
const ReportedStep = z.object({
  name: z.string().describe('The step or condition.'),
  state: z.enum(['done', 'not-done', 'unknown']).describe('Its status.'),
  says: z.string().describe('What it waits for, or its message.'),
  at: z.string().nullable().describe('Since when.'),
});
export type ReportedStep = z.output<typeof ReportedStep>;

/** An object on a spoke, as the feedback of a ManifestWork shows it on the hub. */
export const ObjectReport = z.object({
  object: z.string().describe('Kind, namespace and name on the spoke.'),
  kind: z.string().describe('Its kind.'),
  work: z.string().describe('The ManifestWork, namespace/name.'),
  applied: z.enum(['yes', 'no', 'unknown']).describe('Whether the agent has applied it.'),
  says: z.string().nullable().describe('What the agent says of it; null where it says nothing.'),
  at: z.string().nullable().describe('When the agent noted a change last.'),
  values: z.array(z.object({ name: z.string(), value: z.string() })).describe('Values that are fed back.'),
  steps: z.array(ReportedStep).describe('Steps or conditions, where these are fed back as JSON.'),
});
export type ObjectReport = z.output<typeof ObjectReport>;

/** Answer about one spoke that a page asks for when somebody looks at it. */
export const SpokeAnswer = z.object({
  name: z.string().describe('The spoke.'),
  saidAt: z.string().nullable().describe('When its agent renewed its Lease last.'),
  saidWhy: z.string().nullable().describe('Why that is not known.'),
  parts: z
    .array(MemberRow.omit({ key: true }).extend({ upgrade: z.string().describe('namespace/name.') }))
    .describe('Its part in each upgrade: failures that no retry has taken up first, then the latest.'),
  images: z
    .object({
      upgrade: z.string().describe('The upgrade that pulls, namespace/name.'),
      done: z.int().describe('Images there.'),
      total: z.int().describe('Images needed.'),
      bytesDone: z.int().describe('Bytes there.'),
      bytesTotal: z.int().describe('Bytes needed.'),
      bytesPerSecond: z.int().describe('Rate over the last seconds.'),
      at: z.string().nullable().describe('When the puller reported these figures first; null where it gave no time.'),
    })
    .nullable()
    .describe('Its pull; null where none is reported.'),
  reports: z.array(ObjectReport).describe('Objects on the spoke whose values ManifestWorks feed back, at most sixty.'),
  reportsWhy: z.string().nullable().describe('Why nobody can tell; null where it could be read.'),
});
export type SpokeAnswer = z.output<typeof SpokeAnswer>;

/** Spokes that a change names at most. */
const MOST_CHOSEN = 500;

const windowPart = (says: string) => z.string().min(1).max(200).optional().describe(says);
/** A window, as its annotations have it. */
export const WindowParts = z.object({
  start: windowPart('Not before, RFC 3339.'),
  end: windowPart('Not after, RFC 3339.'),
  schedule: windowPart('Openings, as a cron line.'),
  duration: windowPart('How long it stays open.'),
  timezone: windowPart('Time zone of the schedule.'),
});
export type WindowParts = z.output<typeof WindowParts>;

/** A change that the page asks for. */
export const ActionRequest = z.object({
  action: z.enum(['pause', 'resume', 'hold', 'unhold', 'retry', 'window-set', 'window-clear']).describe('What is to be done.'),
  of: z.string().min(1).max(320).describe('namespace/name of an upgrade, or name of a spoke.'),
  reason: z.string().max(500).optional().describe('Why, for whoever looks.'),
  clusters: z
    .array(z.string().min(1).max(253))
    .min(1)
    .max(MOST_CHOSEN)
    .optional()
    .describe('Spokes to try again; all that failed when absent.'),
  window: WindowParts.optional().describe('The window to set.'),
  dryRun: z.boolean().describe('The server checks it and stores nothing.'),
  seen: z.string().max(100).optional().describe('`seen` of the answer that is confirmed.'),
});
export type ActionRequest = z.output<typeof ActionRequest>;

/** A refusal, as the page shows it. */
export const Refusal = z.object({ error: z.string().describe('A sentence with the next step.') });

/** The way by which a page gets its credential. */
export const LoginWay = z.enum(['address', 'token', 'proxy']);
export type LoginWay = z.output<typeof LoginWay>;

/** Answer to a page without a credential. */
export const LoginAnswer = z.object({
  login: LoginWay.describe(
    'address: the code of the printed address; token: one of the API server, pasted; proxy: a proxy in front sends it.',
  ),
});
export type LoginAnswer = z.output<typeof LoginAnswer>;

/** A code that is exchanged for a token. */
export const LoginRequest = z.object({
  code: z.string().max(100).describe('The code of a printed address; it is good once, and for a minute.'),
});

/** The token that a code was exchanged for. */
export const TokenAnswer = z.object({ token: z.string().describe('Sent with every question until the command ends.') });
export type TokenAnswer = z.output<typeof TokenAnswer>;

/** Answer to a page that asks whether a token is good. */
export const ViewerAnswer = z.object({ viewer: z.string().describe('Name by which the API server knows the asker.') });
export type ViewerAnswer = z.output<typeof ViewerAnswer>;
