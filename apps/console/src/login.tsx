import { LoginAnswer, type LoginWay, Refusal } from '@flotilla/api/answers';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { safeText } from './words/safe-text.ts';

/** Asks the server by which way a page without a key gets one. */
export async function askLogin(): Promise<LoginWay> {
  const answer = await fetch('/login');
  return LoginAnswer.parse(await answer.json()).login;
}

/** The way in with a token of the API server, which this page keeps in its memory and nowhere else. */
export function LoginPage({ onToken }: { readonly onToken: (token: string) => void }): JSX.Element {
  const [token, setToken] = useState('');
  const [problem, setProblem] = useState('');
  const logIn = async (): Promise<void> => {
    setProblem('');
    try {
      const answer = await fetch('/api/viewer', { headers: { authorization: `Bearer ${token.trim()}` } });
      if (answer.ok) return onToken(token.trim());
      setProblem(Refusal.safeParse(await answer.json()).data?.error ?? `the server answered ${answer.status}`);
    } catch {
      setProblem('the server does not answer: try again, or see that the console runs');
    }
  };
  return (
    <main class="page">
      <h1>Flotilla</h1>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void logIn();
        }}
      >
        <label>
          Your token of the hub's API server
          <input
            type="password"
            name="token"
            autocomplete="off"
            required
            value={token}
            onInput={({ currentTarget }) => setToken(currentTarget.value)}
          />
        </label>
        <button type="submit" class="main">
          Log in
        </button>
      </form>
      <p>
        <code>kubectl create token NAME -n NAMESPACE</code>, or on OpenShift <code>oc whoami -t</code>, prints one. The page keeps it in its
        memory and sends it with every question; a reload forgets it.
      </p>
      <p class="problem" role="alert">
        {safeText(problem)}
      </p>
    </main>
  );
}
