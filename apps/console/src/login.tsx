import { LoginAnswer, type LoginWay, Refusal } from '@flotilla/api/answers';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { call } from './connection/call.ts';
import { safeText } from './words/safe-text.ts';

/** Asks the server by which way a page without a key gets one. */
export async function askLogin(): Promise<LoginWay> {
  const { answer } = await call('/login');
  return LoginAnswer.parse(answer).login;
}

/** The way in with a token of the API server, which this page keeps in its memory and nowhere else. */
export function LoginPage({ onToken }: { readonly onToken: (token: string) => void }): JSX.Element {
  const [token, setToken] = useState('');
  const [problem, setProblem] = useState('');
  const logIn = async (): Promise<void> => {
    setProblem('');
    try {
      const { status, answer } = await call('/api/viewer', { headers: { authorization: `Bearer ${token.trim()}` } });
      if (status === 200) return onToken(token.trim());
      setProblem(Refusal.safeParse(answer).data?.error ?? `the server answered ${status}`);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
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
