/** The characters of keyboard layouts. They were compared with xkeyboard-config 2.35. */

/** The characters of all keys in the order of `places`: alone, and with Shift. A space: no character, or a dead key. */
interface LayoutData {
  readonly plain: string;
  readonly shift: string;
  /** Characters with AltGr, each followed by the place of its key. */
  readonly altGr?: string;
  /** Dead keys: each character, followed by its keys. A dead key writes its character when Space follows. */
  readonly dead?: string;
}

/** The places of the keys with characters, row by row. Keyboards of the USA lack the key beside the left Shift. */
export const places = [
  'Backquote Digit1 Digit2 Digit3 Digit4 Digit5 Digit6 Digit7 Digit8 Digit9 Digit0 Minus Equal',
  'KeyQ KeyW KeyE KeyR KeyT KeyY KeyU KeyI KeyO KeyP BracketLeft BracketRight Backslash',
  'KeyA KeyS KeyD KeyF KeyG KeyH KeyJ KeyK KeyL Semicolon Quote',
  'IntlBackslash KeyZ KeyX KeyC KeyV KeyB KeyN KeyM Comma Period Slash',
]
  .join(' ')
  .split(' ');

/** The layouts by their names in X11; `chFr` is the French layout of Switzerland. */
export const layoutData = {
  us: {
    plain: "`1234567890-=qwertyuiop[]\\asdfghjkl;' zxcvbnm,./",
    shift: '~!@#$%^&*()_+QWERTYUIOP{}|ASDFGHJKL:" ZXCVBNM<>?',
  },
  gb: {
    plain: "`1234567890-=qwertyuiop[]#asdfghjkl;'\\zxcvbnm,./",
    shift: '¬!"£$%^&*()_+QWERTYUIOP{}~ASDFGHJKL:@|ZXCVBNM<>?',
    altGr: '€Digit4',
  },
  de: {
    plain: ' 1234567890ß qwertzuiopü+#asdfghjklöä<yxcvbnm,.-',
    shift: `°!"§$%&/()=? QWERTZUIOPÜ*'ASDFGHJKLÖÄ>YXCVBNM;:_`,
    altGr: '@KeyQ €KeyE µKeyM ²Digit2 ³Digit3 {Digit7 [Digit8 ]Digit9 }Digit0 \\Minus ~BracketRight |IntlBackslash',
    dead: '^Backquote ´Equal `Shift+Equal',
  },
  fr: {
    plain: `²&é"'(-è_çà)=azertyuiop $*qsdfghjklmù<wxcvbn,;:!`,
    shift: ' 1234567890°+AZERTYUIOP £µQSDFGHJKLM%>WXCVBN?./§',
    altGr: '~Digit2 #Digit3 {Digit4 [Digit5 |Digit6 `Digit7 \\Digit8 ^Digit9 @Digit0 ]Minus }Equal €KeyE',
    dead: '¨Shift+BracketLeft',
  },
  es: {
    plain: `º1234567890'¡qwertyuiop +çasdfghjklñ <zxcvbnm,.-`,
    shift: 'ª!"·$%&/()=?¿QWERTYUIOP *ÇASDFGHJKLÑ >ZXCVBNM;:_',
    altGr: '\\Backquote |Digit1 @Digit2 #Digit3 ~Digit4 {Digit7 [Digit8 ]Digit9 }Digit0 €KeyE µKeyM',
    dead: '`BracketLeft ^Shift+BracketLeft ´Quote ¨Shift+Quote',
  },
  it: {
    plain: `\\1234567890'ìqwertyuiopè+ùasdfghjklòà<zxcvbnm,.-`,
    shift: '|!"£$%&/()=?^QWERTYUIOPé*§ASDFGHJKLç°>ZXCVBNM;:_',
    altGr: '²Digit2 ³Digit3 {Digit7 [Digit8 ]Digit9 }Digit0 `Minus ~Equal @KeyQ €KeyE #Quote µKeyM',
    dead: '´AltGr+Comma',
  },
  pt: {
    plain: `\\1234567890'«qwertyuiop+  asdfghjklçº<zxcvbnm,.-`,
    shift: '|!"#$%&/()=?»QWERTYUIOP*  ASDFGHJKLÇª>ZXCVBNM;:_',
    altGr: '@Digit2 £Digit3 §Digit4 {Digit7 [Digit8 ]Digit9 }Digit0 €KeyE µKeyM',
    dead: '¨AltGr+BracketLeft ´BracketRight `Shift+BracketRight ~AltGr+BracketRight ^Shift+Backslash',
  },
  br: {
    plain: `'1234567890-=qwertyuiop []asdfghjklç \\zxcvbnm,.;`,
    shift: '"!@#$% &*()_+QWERTYUIOP {}ASDFGHJKLÇ |ZXCVBNM<>:',
    altGr: '²Digit2 ³Digit3 £Digit4 §Equal /KeyQ ?KeyW °KeyE ~Quote µKeyM',
    dead: '¨Shift+Digit6 ´BracketLeft `Shift+BracketLeft ^Shift+Quote',
  },
  ch: {
    plain: `§1234567890' qwertzuiopü $asdfghjklöä<yxcvbnm,.-`,
    shift: '°+"*ç%&/()=? QWERTZUIOPè!£ASDFGHJKLéà>YXCVBNM;:_',
    altGr: '|Digit1 @Digit2 #Digit3 ]Digit9 }Digit0 €KeyE [BracketLeft {Quote \\IntlBackslash µKeyM',
    dead: '´AltGr+Minus ^Equal `Shift+Equal ~AltGr+Equal ¨BracketRight',
  },
  chFr: {
    plain: `§1234567890' qwertzuiopè $asdfghjkléà<yxcvbnm,.-`,
    shift: '°+"*ç%&/()=? QWERTZUIOPü!£ASDFGHJKLöä>YXCVBNM;:_',
    altGr: '|Digit1 @Digit2 #Digit3 ]Digit9 }Digit0 €KeyE [BracketLeft {Quote \\IntlBackslash µKeyM',
    dead: '´AltGr+Minus ^Equal `Shift+Equal ~AltGr+Equal ¨BracketRight',
  },
  be: {
    plain: `²&é"'(§è!çà)-azertyuiop $µqsdfghjklmù<wxcvbn,;:=`,
    shift: '³1234567890°_AZERTYUIOP *£QSDFGHJKLM%>WXCVBN?./+',
    altGr: '|Digit1 @Digit2 #Digit3 ^Digit6 {Digit7 [Digit8 }Digit0 \\Minus €KeyE ]BracketRight',
    dead: '¨Shift+BracketLeft `AltGr+Backslash ´AltGr+Semicolon ~AltGr+Slash',
  },
  dk: {
    plain: `½1234567890+ qwertyuiopå 'asdfghjklæø<zxcvbnm,.-`,
    shift: '§!"#¤%&/()=? QWERTYUIOPÅ *ASDFGHJKLÆØ>ZXCVBNM;:_',
    altGr: '@Digit2 £Digit3 $Digit4 {Digit7 [Digit8 ]Digit9 }Digit0 |Equal €KeyE \\IntlBackslash µKeyM',
    dead: '´Equal `Shift+Equal ¨AltGr+BracketLeft ^Shift+BracketRight ~AltGr+BracketRight',
  },
  no: {
    plain: `|1234567890+\\qwertyuiopå 'asdfghjkløæ<zxcvbnm,.-`,
    shift: '§!"#¤%&/()=? QWERTYUIOPÅ *ASDFGHJKLØÆ>ZXCVBNM;:_',
    altGr: '@Digit2 £Digit3 $Digit4 {Digit7 [Digit8 ]Digit9 }Digit0 €KeyE µKeyM',
    dead: '`Shift+Equal ´AltGr+Equal ¨AltGr+BracketLeft ^Shift+BracketRight ~AltGr+BracketRight',
  },
  se: {
    plain: `§1234567890+ qwertyuiopå 'asdfghjklöä<zxcvbnm,.-`,
    shift: '½!"#¤%&/()=? QWERTYUIOPÅ *ASDFGHJKLÖÄ>ZXCVBNM;:_',
    altGr: '@Digit2 £Digit3 $Digit4 €Digit5 {Digit7 [Digit8 ]Digit9 }Digit0 \\Minus |IntlBackslash µKeyM',
    dead: '´Equal `Shift+Equal ¨AltGr+BracketLeft ^Shift+BracketRight ~AltGr+BracketRight',
  },
  fi: {
    plain: `§1234567890+ qwertyuiopå 'asdfghjklöä<zxcvbnm,.-`,
    shift: '½!"#¤%&/()=? QWERTYUIOPÅ *ASDFGHJKLÖÄ>ZXCVBNM;:_',
    altGr: '@Digit2 £Digit3 $Digit4 {Digit7 [Digit8 ]Digit9 }Digit0 \\Minus €KeyE |IntlBackslash µKeyM',
    dead: '´Equal `Shift+Equal ¨BracketRight ^Shift+BracketRight ~AltGr+BracketRight',
  },
  pl: {
    plain: "`1234567890-=qwertyuiop[]\\asdfghjkl;' zxcvbnm,./",
    shift: '~!@#$%^&*()_+QWERTYUIOP{}|ASDFGHJKL:" ZXCVBNM<>?',
    altGr: '²Digit2 ³Digit3 €Digit5 §Digit7 µKeyM',
    dead: '¨AltGr+BracketLeft ´AltGr+Semicolon',
  },
  cz: {
    plain: ';+ěščřžýáíé= qwertzuiopú) asdfghjklů§\\yxcvbnm,.-',
    shift: ` 1234567890% QWERTZUIOP/('ASDFGHJKL"!|YXCVBNM?:_`,
    altGr:
      '`Backquote @Digit2 #Digit3 $Digit4 ^Digit6 &Digit7 *Digit8 {Digit9 }Digit0 €KeyE [BracketLeft ]BracketRight ~KeyA °KeyZ <Comma >Period',
    dead: '´Equal ¨Backslash',
  },
  hu: {
    plain: '0123456789öüóqwertzuiopőúűasdfghjkléáíyxcvbnm,.-',
    shift: `§'"+!%/=()ÖÜÓQWERTZUIOPŐÚŰASDFGHJKLÉÁÍYXCVBNM?:_`,
    altGr:
      '~Digit1 ^Digit3 `Digit7 \\KeyQ |KeyW €KeyU [KeyF ]KeyG $Semicolon <IntlBackslash >KeyZ #KeyX &KeyC @KeyV {KeyB }KeyN ;Comma *Slash',
    dead: '´AltGr+Digit9 ¨AltGr+Minus',
  },
  tr: {
    plain: '"1234567890*-qwertyuıopğü,asdfghjklşi<zxcvbnmöç.',
    shift: `é!'^+%&/()=?_QWERTYUIOPĞÜ;ASDFGHJKLŞİ>ZXCVBNMÖÇ:`,
    altGr:
      '£Digit2 #Digit3 $Digit4 {Digit7 [Digit8 ]Digit9 }Digit0 \\Minus |Equal @KeyQ €KeyE ~BracketRight `Backslash µKeyM',
    dead: '¨AltGr+BracketLeft',
  },
} as const satisfies Readonly<Record<string, LayoutData>>;

/** Returns a layout. All layouts have the members of this type. */
export const layoutOf = (name: keyof typeof layoutData): LayoutData => layoutData[name];
