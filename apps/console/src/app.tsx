import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { LocationProvider, Route, Router } from 'preact-iso';
import type { World } from './connection/world.ts';
import { FleetPage } from './fleet/page.tsx';
import { RolloutPage } from './rollout/page.tsx';
import { SpokePage } from './spoke/page.tsx';
import { Age, useNow } from './words/age.tsx';
import { Mark } from './words/marks.tsx';
import { safeText } from './words/safe-text.ts';
import { duration } from './words/units.ts';
import { useWorld, WorldContext } from './world-context.ts';

/** The console: a bar that says how live it is, and a view. */
export function App({ world }: { readonly world: World }): JSX.Element {
  return (
    <WorldContext.Provider value={world}>
      <LocationProvider>
        <a class="skip" href="#main">
          To the content
        </a>
        <TopBar />
        <Router>
          <Route path="/" component={FleetPage} />
          <Route path="/upgrades/:namespace/:name" component={RolloutPage} />
          <Route path="/spokes/:name" component={SpokePage} />
          <Route default component={Nowhere} />
        </Router>
        <Changes />
      </LocationProvider>
    </WorldContext.Provider>
  );
}

function TopBar(): JSX.Element {
  const { server, viewer, rights, unseen } = useWorld();
  const { spokes } = useWorld();
  void spokes.version.value;
  const lacks = rights.value ? [rights.value.upgrades, rights.value.spokes, rights.value.lease].filter((lack) => lack !== null) : [];
  return (
    <header class="bar-top">
      <a class="home" href="/">
        Flotilla
      </a>
      <span class="server">
        {server.value}
        {viewer.value !== '' && ` as ${safeText(viewer.value)}`}
      </span>
      <HubMark />
      <LinkMark />
      {[...lacks, ...unseen.value].map((sentence) => (
        <p key={sentence} class="problem">
          {safeText(sentence)}
        </p>
      ))}
    </header>
  );
}

/** Whether a hub decides now. */
function HubMark(): JSX.Element | null {
  const hub = useWorld().hub.value;
  if (!hub) return null;
  if (hub.state === 'unseen')
    return <Mark shape="question" tone="late" word={`whether a hub leads is not known: ${safeText(hub.why ?? '')}`} />;
  if (hub.state === 'silent')
    return (
      <span>
        <Mark shape="cross" tone="bad" word="no hub leads" /> for <Age at={hub.renewedAt} />
      </span>
    );
  return (
    <span>
      <Mark shape="check" tone="good" word={`${safeText(hub.holder ?? 'a hub')} leads`} />, seen <Age at={hub.renewedAt} /> ago
    </span>
  );
}

/** A stream says that it lives every ten seconds. */
const STALE_S = 15;

function LinkMark(): JSX.Element {
  const { link, heardAt } = useWorld();
  const now = useNow();
  const silentS = heardAt.value === undefined ? 0 : Math.max((now - heardAt.value) / 1000, 0);
  if (link.value === 'refused')
    return <Mark shape="cross" tone="bad" word="not let in any more: start the command again, or reload and log in" />;
  if (link.value === 'opening') return <Mark shape="ring" tone="faint" word="opening" />;
  if (link.value === 'lost' || silentS > STALE_S)
    return <Mark shape="question" tone="late" word={`not live: nothing heard for ${duration(silentS)}`} />;
  return <Mark shape="check" tone="good" word="live" />;
}

/** Between two announcements to those who listen. */
const ANNOUNCE_MS = 10_000;

/** Changes summed up for those who do not see them. */
function Changes(): JSX.Element {
  const { upgrades } = useWorld();
  const [said, setSaid] = useState('');
  useEffect(() => {
    const saying = setInterval(() => {
      const parts = upgrades
        .values()
        .flatMap(({ key, stage, clusters }) =>
          stage === 'rolling-out' || stage === 'pre-caching'
            ? [`${key}: ${clusters.done} of ${clusters.total} done, ${clusters.failed} failed`]
            : [],
        );
      setSaid(parts.slice(0, 3).join('. '));
    }, ANNOUNCE_MS);
    return () => clearInterval(saying);
  }, [upgrades]);
  return (
    <p class="hidden" role="status" aria-live="polite">
      {said}
    </p>
  );
}

function Nowhere(): JSX.Element {
  return (
    <main id="main" class="page">
      <h1>There is nothing here</h1>
      <p>
        <a href="/">To the fleet</a>
      </p>
    </main>
  );
}
