import { type WindowParts, windowFields } from '@flotilla/api/answers';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';

interface FormProps {
  /** It keeps what was typed while the answer is shown. */
  readonly isHidden: boolean;
  /** Undefined for no window. */
  readonly onCheck: (window: WindowParts | undefined) => void;
  readonly onCancel: () => void;
}

type Shape = 'once' | 'again' | 'none';
const SHAPES: readonly (readonly [Shape, string])[] = [
  ['once', 'Once, between two times'],
  ['again', 'Again and again'],
  ['none', 'No window: batches start at any time'],
];

const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** The window that somebody wants. */
export function WindowForm({ isHidden, onCheck, onCancel }: FormProps): JSX.Element {
  const [shape, setShape] = useState<Shape>('once');
  return (
    <form
      hidden={isHidden}
      class="window-form"
      onSubmit={(event) => {
        event.preventDefault();
        onCheck(shape === 'none' ? undefined : windowOf(new FormData(event.currentTarget)));
      }}
    >
      <fieldset>
        <legend>Batches start</legend>
        {SHAPES.map(([value, says]) => (
          <label key={value}>
            <input type="radio" name="shape" value={value} checked={shape === value} onChange={() => setShape(value)} /> {says}
          </label>
        ))}
      </fieldset>
      {shape === 'once' && (
        <div class="fields">
          <label>
            {windowFields.start} ({ZONE})
            <input type="datetime-local" name="start" />
          </label>
          <label>
            {windowFields.end} ({ZONE})
            <input type="datetime-local" name="end" required />
          </label>
        </div>
      )}
      {shape === 'again' && (
        <div class="fields">
          <label>
            {windowFields.schedule}, as five cron fields
            <input name="schedule" required placeholder="0 22 * * 6" />
          </label>
          <label>
            {windowFields.duration}
            <input name="duration" required placeholder="4h" />
          </label>
          <label>
            {windowFields.timezone}
            <input name="timezone" defaultValue={ZONE} required />
          </label>
        </div>
      )}
      <div class="buttons">
        <button type="submit" class="main">
          See what it would do
        </button>
        <button type="button" onClick={onCancel}>
          Cancel
        </button>
      </div>
    </form>
  );
}

function windowOf(form: FormData): WindowParts {
  const text = (name: string): string | undefined => {
    const value = form.get(name);
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  // The field holds a time of the viewer's clock without a zone.
  const time = (name: string): string | undefined => {
    const value = text(name);
    return value === undefined ? undefined : new Date(value).toISOString();
  };
  const parts = {
    start: time('start'),
    end: time('end'),
    schedule: text('schedule'),
    duration: text('duration'),
    timezone: text('timezone'),
  };
  return Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== undefined));
}
