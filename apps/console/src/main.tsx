import { render } from 'preact';

const home = document.getElementById('console');
if (home) render(<h1>Flotilla</h1>, home);
