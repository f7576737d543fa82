import type { Rights, SpokeAnswer, SpokeRow } from '@flotilla/api/answers';
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { useRoute } from 'preact-iso';
import { upgradePath } from '../address.ts';
import { Steer } from '../steer/steer.tsx';
import { Scroll } from '../table/scroll.tsx';
import { Why } from '../why/chain.tsx';
import { Age } from '../words/age.tsx';
import { AvailableMark, HeldMark, SpokeMark } from '../words/marks.tsx';
import { safeText } from '../words/safe-text.ts';
import { bytes } from '../words/units.ts';
import { useWorld } from '../world-context.ts';

/** One spoke. */
export function SpokePage(): JSX.Element {
  const world = useWorld();
  const { params } = useRoute();
  const name = params.name ?? '';
  const [answer, setAnswer] = useState<SpokeAnswer | { readonly problem: string }>();
  void world.spokes.version.value;
  const row = world.spokes.get(name);
  useEffect(() => {
    world.look(undefined);
    document.title = `${name} · Flotilla`;
  }, [world, name]);
  // Whatever changes in its row may have changed in the answer.
  const seen = row && JSON.stringify(row);
  useEffect(() => {
    let isCurrent = true;
    const take = (next: typeof answer): void => {
      if (isCurrent) setAnswer(next);
    };
    world.ask.spoke(name).then(take, (error: unknown) => take({ problem: error instanceof Error ? error.message : String(error) }));
    return () => {
      isCurrent = false;
    };
  }, [world, name, seen]);
  return (
    <main id="main" class="page">
      <p class="trail">
        <a href="/">Fleet</a>
      </p>
      <Head name={name} row={row} rights={world.rights.value} />
      {answer && 'problem' in answer && <p class="problem">{safeText(answer.problem)}</p>}
      {answer && 'parts' in answer && <Parts {...answer} />}
      {row?.upgrade != null && (
        <section aria-labelledby="why-title">
          <h2 id="why-title">
            Why it waits in <a href={upgradePath(row.upgrade)}>{row.upgrade}</a>
          </h2>
          <Why key={row.upgrade} upgrade={row.upgrade} cluster={name} />
        </section>
      )}
    </main>
  );
}

interface HeadProps {
  readonly name: string;
  readonly row: SpokeRow | undefined;
  readonly rights: Rights | undefined;
}

function Head({ name, row, rights }: HeadProps): JSX.Element {
  if (!row)
    return (
      <>
        <h1>{name}</h1>
        <p class="empty">{rights?.spokes ?? 'There is no such spoke.'}</p>
      </>
    );
  const { state, hold, available, availableSince, version } = row;
  return (
    <>
      <header class="title">
        <h1>{name}</h1>
        <SpokeMark state={state} />
        {hold !== null && <HeldMark word={`held: ${safeText(hold)}`} />}
        <div class="actions">
          <Steer offered={hold === null ? 'hold' : 'unhold'} of={name} lack={rights?.steerSpokes ?? null} />
        </div>
      </header>
      <dl class="facts">
        <div>
          <dt>Version</dt>
          <dd>{safeText(version ?? 'not reported')}</dd>
        </div>
        <div>
          <dt>Available</dt>
          <dd>
            <AvailableMark available={available} />{' '}
            {availableSince !== null && (
              <>
                for <Age at={availableSince} />
              </>
            )}
          </dd>
        </div>
      </dl>
    </>
  );
}

function Parts({ saidAt, saidWhy, parts, images }: SpokeAnswer): JSX.Element {
  return (
    <>
      <dl class="facts">
        <div>
          <dt>Its agent said something</dt>
          <dd>
            {saidAt === null ? (
              safeText(saidWhy ?? 'nobody knows when')
            ) : (
              <>
                <Age at={saidAt} /> ago
              </>
            )}
          </dd>
        </div>
        {images && (
          <div>
            <dt>Images</dt>
            <dd>
              {images.done} of {images.total} there, {bytes(images.bytesDone)} of {bytes(images.bytesTotal)}
            </dd>
          </div>
        )}
      </dl>
      <section aria-labelledby="parts-title">
        <h2 id="parts-title">Upgrades</h2>
        {parts.length === 0 ? (
          <p class="empty">It is in no upgrade.</p>
        ) : (
          <Scroll label="parts-title">
            <table>
              <thead>
                <tr>
                  <th scope="col">Upgrade</th>
                  <th scope="col">State</th>
                  <th scope="col">Batch</th>
                  <th scope="col">Pre-cache</th>
                  <th scope="col">Cause</th>
                </tr>
              </thead>
              <tbody>
                {parts.map(({ upgrade, state, batch, cached, says }) => (
                  <tr key={upgrade}>
                    <th scope="row">
                      <a href={upgradePath(upgrade)}>{upgrade}</a>
                    </th>
                    <td>
                      <SpokeMark state={state} />
                    </td>
                    <td class="number">{batch ?? '–'}</td>
                    <td>{cached ?? '–'}</td>
                    <td class="text">{says === null ? '–' : safeText(says)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </Scroll>
        )}
      </section>
    </>
  );
}
