/** The frame of a console: the menu at the left, a bar at the top, the current page. */
import { signal } from '@preact/signals';
import type { ComponentChildren, RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { Button } from '../button.js';
import { Select } from '../field.js';
import { Icon } from '../icon.js';
import { LeaveDialog } from './leave-dialog.js';
import { CurrentPage, type Page } from './pages.js';
import { currentPath, hrefOf, matchPath } from './router.js';
import { uiTexts as texts } from '../../texts/index.js';
import { theme, type Theme } from './theme.js';
import { ShellToasts } from './toast.js';

/** Properties of `Shell`. */
interface ShellProps {
  /** The name of the console, in the menu and at the end of titles. */
  readonly product: string;
  readonly pages: readonly Page[];
  /** The right end of the bar: the user, the state of the connection. */
  readonly bar?: ComponentChildren;
  /** Hints above the content of every page. */
  readonly notices?: ComponentChildren;
}

const isMenuOpen = signal(false);

/** The frame with the current page. */
export function Shell({ product, pages, bar, notices }: ShellProps) {
  const path = currentPath.value;
  const side = useRef<HTMLElement>(null);
  const content = useRef<HTMLElement>(null);
  const leaveMenu = (): void => {
    if (!isMenuOpen.value) return;
    isMenuOpen.value = false;
    content.current?.focus();
  };
  useLayoutEffect(leaveMenu, [path]);
  return (
    <div class={isMenuOpen.value ? 'shell open' : 'shell'}>
      <a class="skip" href="#content">
        {texts.skip}
      </a>
      <nav
        id="menu"
        class="side"
        aria-label={texts.navigation}
        ref={side}
        onFocusOut={({ currentTarget, relatedTarget }) => {
          if (relatedTarget instanceof Node && !currentTarget.contains(relatedTarget)) isMenuOpen.value = false;
        }}
        onClick={({ target }) => {
          // The effect above closes the menu only if the path changes. A link to the current page does not
          // change the path.
          if (target instanceof Element && target.closest('[aria-current]') !== null) leaveMenu();
        }}
      >
        <p class="product">{product}</p>
        <PageLinks pages={pages} path={path} />
        <ThemeSwitch />
      </nav>
      <div class="main">
        <header class="bar">
          <MenuButton menu={side} />
          <div class="grow" />
          {bar}
        </header>
        <main id="content" tabIndex={-1} ref={content}>
          {notices}
          <CurrentPage pages={pages} />
        </main>
      </div>
      <ShellToasts />
      <LeaveDialog />
    </div>
  );
}

/**
 * The button that opens the menu on narrow windows. This menu closes with Escape, with a click beside it,
 * and when the focus leaves it.
 */
function MenuButton({ menu }: { readonly menu: RefObject<HTMLElement | null> }) {
  const button = useRef<HTMLButtonElement>(null);
  const isOpen = isMenuOpen.value;
  // Moves the focus together with the rendering. `useEffect` could run only after the next click of the user.
  useLayoutEffect(() => {
    if (!isOpen) return;
    // The menu is before the button, so Tab would not lead into it.
    const links = [...(menu.current?.querySelectorAll('a') ?? [])];
    (links.find((link) => link.matches('[aria-current]')) ?? links[0])?.focus();
    const close = (event: KeyboardEvent): void => {
      if (event.key !== 'Escape') return;
      button.current?.focus();
      isMenuOpen.value = false;
    };
    const closeBeside = ({ target }: Event): void => {
      const isBeside = (element: Element | null): boolean =>
        target instanceof Node && element?.contains(target) === false;
      if (isBeside(menu.current) && isBeside(button.current)) isMenuOpen.value = false;
    };
    addEventListener('keydown', close);
    addEventListener('pointerdown', closeBeside);
    return () => {
      removeEventListener('keydown', close);
      removeEventListener('pointerdown', closeBeside);
    };
  }, [isOpen]);
  return (
    <Button
      ref={button}
      kind="quiet"
      class="menu-button"
      aria-label={texts.menu}
      aria-expanded={isOpen}
      aria-controls="menu"
      onClick={() => {
        isMenuOpen.value = !isOpen;
      }}
    >
      <Icon name="menu" />
    </Button>
  );
}

/** The links to the pages. */
function PageLinks({ pages, path }: { readonly pages: readonly Page[]; readonly path: string }) {
  const offered = pages.filter(({ label, isOffered }) => label !== undefined && (isOffered?.() ?? true));
  const groups = [...new Set(offered.map(({ group }) => group ?? ''))];
  return (
    <div class="menu">
      {groups.map((group) => (
        <div key={group}>
          {group === '' ? null : <p class="group">{group}</p>}
          <ul>
            {offered
              .filter((page) => (page.group ?? '') === group)
              .map(({ pattern, label, icon }) => (
                <li key={pattern}>
                  <a
                    href={hrefOf(pattern.replace(/\/?\*$/, ''))}
                    aria-current={matchPath(pattern, path) === null ? undefined : 'page'}
                  >
                    {icon === undefined ? null : <Icon name={icon} />}
                    {label}
                  </a>
                </li>
              ))}
          </ul>
        </div>
      ))}
    </div>
  );
}

/** The choice of the theme. */
function ThemeSwitch() {
  const { label, system, light, dark } = texts.theme;
  return (
    <label class="theme-switch">
      <span>{label}</span>
      <Select
        value={theme.value}
        onValue={(value) => {
          theme.value = value as Theme; // the options are the values of Theme
        }}
        options={[
          ['system', system],
          ['light', light],
          ['dark', dark],
        ]}
      />
    </label>
  );
}
