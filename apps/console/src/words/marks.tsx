import type { MemberRow, SpokeState, UpgradeRow, UpgradeStage } from '@flotilla/api/answers';
import type { JSX } from 'preact';

/** A shape for a state: it is told apart without its colour. */
type Shape = 'check' | 'cross' | 'half' | 'ring' | 'dash' | 'bars' | 'question';

const PATHS: Readonly<Record<Shape, JSX.Element>> = {
  check: <path class="line" d="M2 6.5 5 9.5 10 3" />,
  cross: <path class="line" d="M2.5 2.5l7 7m0-7l-7 7" />,
  half: (
    <>
      <circle class="outline" cx="6" cy="6" r="4.5" />
      <path class="solid" d="M6 1.5a4.5 4.5 0 0 1 0 9z" />
    </>
  ),
  ring: <circle class="outline" cx="6" cy="6" r="4.5" />,
  dash: <path class="line" d="M2 6h8" />,
  bars: <path class="solid" d="M2.5 2h2.5v8H2.5zM7 2h2.5v8H7z" />,
  question: <path class="line" d="M3.5 4.2C3.5 1.2 8.5 1.4 8.5 4c0 1.8-2.5 1.8-2.5 3.6M6 9.6v.6" />,
};

/** Colour of a state, which says no more than shape and word. */
type Tone = 'good' | 'bad' | 'busy' | 'late' | 'faint';

interface MarkProps {
  readonly shape: Shape;
  readonly tone: Tone;
  readonly word: string;
}

/** A state: shape and word, and a colour that says nothing more. */
export const Mark = ({ shape, tone, word }: MarkProps): JSX.Element => (
  <span class={`mark ${tone}`}>
    <svg viewBox="0 0 12 12" width="12" height="12" aria-hidden="true">
      {PATHS[shape]}
    </svg>
    {word}
  </span>
);

const ofSpokes: Readonly<Record<SpokeState, MarkProps>> = {
  done: { shape: 'check', tone: 'good', word: 'done' },
  failed: { shape: 'cross', tone: 'bad', word: 'failed' },
  'in-batch': { shape: 'half', tone: 'busy', word: 'in batch' },
  waiting: { shape: 'ring', tone: 'faint', word: 'waiting' },
  none: { shape: 'dash', tone: 'faint', word: 'no upgrade' },
};

/** The shape and colour of the state of a spoke. */
export const spokeMark = (state: SpokeState): MarkProps => ofSpokes[state];

/** The state of a spoke in an upgrade. */
export const SpokeMark = ({ state }: { readonly state: SpokeState }): JSX.Element => <Mark {...ofSpokes[state]} />;

/** The word for the state of a spoke. */
export const spokeWord = (state: SpokeState): string => ofSpokes[state].word;

const ofStages: Readonly<Record<UpgradeStage, MarkProps>> = {
  unplanned: { shape: 'dash', tone: 'faint', word: 'unplanned' },
  refused: { shape: 'cross', tone: 'bad', word: 'refused' },
  'pre-caching': { shape: 'half', tone: 'busy', word: 'pre-caching' },
  waiting: { shape: 'ring', tone: 'faint', word: 'waiting' },
  preparing: { shape: 'half', tone: 'busy', word: 'preparing' },
  'rolling-out': { shape: 'half', tone: 'busy', word: 'rolling out' },
  'between-batches': { shape: 'ring', tone: 'busy', word: 'between batches' },
  'cleaning-up': { shape: 'half', tone: 'busy', word: 'cleaning up' },
  done: { shape: 'check', tone: 'good', word: 'done' },
  partial: { shape: 'cross', tone: 'bad', word: 'done in part' },
  failed: { shape: 'cross', tone: 'bad', word: 'failed' },
  'timed-out': { shape: 'cross', tone: 'bad', word: 'timed out' },
  deleting: { shape: 'dash', tone: 'late', word: 'being deleted' },
};

/** The stage of an upgrade. */
export const StageMark = ({ stage }: { readonly stage: UpgradeStage }): JSX.Element => <Mark {...ofStages[stage]} />;

const ofEdits: Readonly<Record<NonNullable<UpgradeRow['edits']>['state'], MarkProps>> = {
  unprocessed: { shape: 'question', tone: 'late', word: 'edits unprocessed' },
  ignored: { shape: 'cross', tone: 'bad', word: 'edits ignored' },
};

/** Edits of an upgrade's spec that its state is not about; nothing where there are none. */
export const EditsMark = ({ edits }: Pick<UpgradeRow, 'edits'>): JSX.Element | null => edits && <Mark {...ofEdits[edits.state]} />;

type Cached = NonNullable<MemberRow['cached']>;
const ofCaches: Readonly<Record<Cached, MarkProps>> = {
  NotStarted: { shape: 'ring', tone: 'faint', word: 'not begun' },
  PreparingToStart: { shape: 'ring', tone: 'busy', word: 'preparing' },
  Starting: { shape: 'half', tone: 'busy', word: 'starting' },
  Active: { shape: 'half', tone: 'busy', word: 'pulling' },
  Succeeded: { shape: 'check', tone: 'good', word: 'there' },
  PrecacheTimeout: { shape: 'cross', tone: 'bad', word: 'timed out' },
  UnrecoverableError: { shape: 'cross', tone: 'bad', word: 'failed' },
};

/** The pre-caching of a spoke; the hub's own word is its title. */
export const CacheMark = ({ cached }: { readonly cached: Cached | null }): JSX.Element =>
  cached === null ? (
    <>–</>
  ) : (
    <span title={cached}>
      <Mark {...ofCaches[cached]} />
    </span>
  );

/** Pre-caching that has ended without its images. */
export const hasNoImages = (cached: Cached | null): boolean => cached === 'PrecacheTimeout' || cached === 'UnrecoverableError';

/** The word for the stage of an upgrade. */
export const stageWord = (stage: UpgradeStage): string => ofStages[stage].word;

const ofAnswers = {
  yes: { shape: 'check', tone: 'good' },
  no: { shape: 'cross', tone: 'bad' },
  unknown: { shape: 'question', tone: 'late' },
} as const;

/** Mark of a fact that ought to be true. */
export const YesMark = ({ is }: { readonly is: keyof typeof ofAnswers }): JSX.Element => <Mark {...ofAnswers[is]} word={is} />;

/** Something stands still because somebody wants it. */
export const HeldMark = ({ word }: { readonly word: string }): JSX.Element => <Mark shape="bars" tone="late" word={word} />;
