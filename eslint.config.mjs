import js from '@eslint/js';

const browser = [
	'document', 'window', 'getComputedStyle', 'matchMedia', 'requestAnimationFrame', 'performance',
	'DecompressionStream', 'TextDecoder', 'ResizeObserver', 'ImageData', 'setTimeout', 'clearTimeout', 'atob',
	'HTMLElement', 'Element', 'Node', 'devicePixelRatio', 'URLSearchParams', 'location', 'history',
	'Blob', 'Response',
];
const node = ['performance', 'process', 'console', 'URL', 'Buffer', 'setTimeout'];

/** @param {string[]} names */
const readonly = (names) => Object.fromEntries(names.map((name) => [name, 'readonly']));

const rules = {
	eqeqeq: 'error',
	'no-var': 'error',
	'prefer-const': 'error',
	'no-shadow': 'error',
	'no-implicit-globals': 'error',
	'no-restricted-properties': [
		'error',
		{ property: 'innerHTML', message: 'names are hostile text: use textContent' },
		{ property: 'outerHTML', message: 'names are hostile text: use textContent' },
		{ property: 'insertAdjacentHTML', message: 'names are hostile text: use append' },
	],
};

export default [
	js.configs.recommended,
	{ files: ['lib/render/viewer/*.js'], languageOptions: { globals: readonly(browser) }, rules },
	{
		files: ['tests/browser/*.mjs'],
		languageOptions: { globals: { ...readonly(node), ...readonly(browser) } },
		rules,
	},
];
