import type { ActionRequest, ChangeAnswer } from '@flotilla/api/answers';
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { safeText } from '../words/safe-text.ts';
import { useWorld } from '../world-context.ts';

type Action = ActionRequest['action'];

interface SteerProps {
  /** The change that makes sense now; undefined for none. */
  readonly offered: Action | undefined;
  readonly of: string;
  /** The sentence on the right that is missing; null where it is there. */
  readonly lack: string | null;
}

const words = {
  pause: { button: 'Pause', takesReason: true },
  resume: { button: 'Resume', takesReason: false },
  hold: { button: 'Hold', takesReason: true },
  unhold: { button: 'Unhold', takesReason: false },
} as const satisfies Record<Action, object>;

/** A change that somebody may want: it is checked and shown before it is made, and its end is shown though another one is offered by then. */
export function Steer({ offered, of, lack }: SteerProps): JSX.Element {
  const [opened, setOpened] = useState<Action>();
  return (
    <>
      {offered !== undefined && <Offer action={offered} lack={lack} onOpen={() => setOpened(offered)} />}
      {opened !== undefined && <Change action={opened} of={of} onEnd={() => setOpened(undefined)} />}
    </>
  );
}

interface OfferProps {
  readonly action: Action;
  readonly lack: string | null;
  readonly onOpen: () => void;
}

function Offer({ action, lack, onOpen }: OfferProps): JSX.Element {
  const { button } = words[action];
  if (lack !== null)
    return (
      <span class="lack">
        <button type="button" disabled>
          {button}
        </button>
        <small>{lack}</small>
      </span>
    );
  return (
    <button type="button" onClick={onOpen}>
      {button}…
    </button>
  );
}

type Step =
  | { readonly kind: 'busy'; readonly says: string }
  | { readonly kind: 'checked' | 'ended'; readonly answer: ChangeAnswer }
  | { readonly kind: 'problem'; readonly says: string };

interface ChangeProps {
  readonly action: Action;
  readonly of: string;
  readonly onEnd: () => void;
}

function Change({ action, of, onEnd }: ChangeProps): JSX.Element {
  const { ask } = useWorld();
  const dialog = useRef<HTMLDialogElement>(null);
  const [reason, setReason] = useState('');
  const [step, setStep] = useState<Step>({ kind: 'busy', says: 'Checking what it would do…' });
  const { button, takesReason } = words[action];
  const send = async (dryRun: boolean): Promise<void> => {
    setStep({ kind: 'busy', says: dryRun ? 'Checking what it would do…' : 'Changing, and waiting for the hub to take it up…' });
    try {
      const answer = await ask.act({ action, of, dryRun, ...(reason !== '' && { reason }) });
      setStep({ kind: dryRun ? 'checked' : 'ended', answer });
    } catch (error) {
      setStep({ kind: 'problem', says: error instanceof Error ? error.message : String(error) });
    }
  };
  useEffect(() => {
    dialog.current?.showModal();
    void send(true);
  }, []);
  return (
    <dialog ref={dialog} class="change" aria-labelledby="change-title" onClose={onEnd}>
      <h2 id="change-title">
        {button} {of}
      </h2>
      <div aria-live="polite">
        {step.kind === 'busy' && <p>{step.says}</p>}
        {step.kind === 'problem' && <p class="problem">{safeText(step.says)}</p>}
        {(step.kind === 'checked' || step.kind === 'ended') && <Told {...step.answer} />}
      </div>
      {step.kind === 'checked' && step.answer.outcome === 'dry-run' && (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void send(false);
          }}
        >
          {takesReason && (
            <label class="reason">
              Why, for whoever looks
              <input type="text" maxLength={500} value={reason} onInput={({ currentTarget }) => setReason(currentTarget.value)} />
            </label>
          )}
          <div class="buttons">
            <button type="submit" class="main">
              {button}
            </button>
            <button type="button" onClick={() => dialog.current?.close()}>
              Cancel
            </button>
          </div>
        </form>
      )}
      {!(step.kind === 'checked' && step.answer.outcome === 'dry-run') && (
        <div class="buttons">
          <button type="button" onClick={() => dialog.current?.close()}>
            Close
          </button>
        </div>
      )}
    </dialog>
  );
}

const heads = {
  changed: 'is changed',
  created: 'is created',
  unchanged: 'is so already; nothing was changed',
  'dry-run': 'would be changed',
  declined: 'was not changed',
  unanswered: 'is changed, but no hub has taken it up yet',
} as const satisfies Record<ChangeAnswer['outcome'], string>;

function Told({ object, outcome, annotations, clusters, says, undo }: ChangeAnswer): JSX.Element {
  return (
    <>
      <p>
        <strong>{object}</strong> {heads[outcome]}
        {outcome !== 'unchanged' && `, touching ${clusters} ${clusters === 1 ? 'cluster' : 'clusters'}`}.
      </p>
      <ul>
        {says.map((sentence) => (
          <li key={sentence}>{safeText(sentence)}</li>
        ))}
      </ul>
      <ul class="annotations">
        {annotations.map(({ key, before, after }) => (
          <li key={key}>
            <code>{key}</code>: {shown(before)} → {shown(after)}
          </li>
        ))}
      </ul>
      {outcome === 'changed' && undo !== undefined && (
        <p>
          Undo: <code>{undo}</code>
        </p>
      )}
    </>
  );
}

const shown = (value: string | undefined): string => (value === undefined ? '(none)' : safeText(JSON.stringify(value)));
