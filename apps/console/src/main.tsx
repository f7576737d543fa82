import './no-code-from-text.ts';
import { render } from 'preact';
import { App } from './app.tsx';
import { findToken, shareToken } from './connection/token.ts';
import { World } from './connection/world.ts';
import { askLogin, LoginPage } from './login.tsx';

const home = document.getElementById('console');
const token = await findToken();
const login = token === undefined ? await askLogin().catch(() => 'address' as const) : undefined;
if (home) {
  home.replaceChildren();
  const open = (given: string): void => {
    render(<App world={new World(given)} />, home);
  };
  if (token !== undefined) open(token);
  // The proxy in front adds a token to every request.
  else if (login === 'proxy') open('');
  else if (login === 'token')
    render(
      <LoginPage
        onToken={(given) => {
          shareToken(given);
          open(given);
        }}
      />,
      home,
    );
  else
    render(
      <main class="page">
        <h1>Flotilla</h1>
        <p>
          This address has no code, or one that was used or is older than a minute. Open the one that flotilla console has printed last on
          its terminal.
        </p>
      </main>,
      home,
    );
}
