import './no-code-from-text.ts';
import { render } from 'preact';
import { App } from './app.tsx';
import { findToken } from './connection/token.ts';
import { World } from './connection/world.ts';

const home = document.getElementById('console');
const token = await findToken();
if (home) {
  home.replaceChildren();
  render(
    token === undefined ? (
      <main class="page">
        <h1>Flotilla</h1>
        <p>This address lacks its key. Open the one that flotilla console printed on its terminal; it is good until the command ends.</p>
      </main>
    ) : (
      <App world={new World(token)} />
    ),
    home,
  );
}
