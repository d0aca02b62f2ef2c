/**
 * The words of recovery keys, of SCOWL, which is Copyright 2000-2011 by Kevin Atkinson. Permission to use, copy,
 * modify, distribute and sell these word lists is granted without fee, provided that this notice appears in all copies.
 *
 * It is the list of `RecoveryWordList.swift`. No two words begin with the same four letters.
 */

export const wordList = `
abandon abate abbey ability able abolish about above abroad abrupt absence absorb absurd accept accord accuse
achieve acquire acrid acronym action actual acumen acute addict address adhere adjoin adjust admit adobe adopt
adorn adroit advance advent advice afar affair affect affix afford aflame afoot afraid after against agency
aghast agree ahoy airport aisle alarm albeit albino album alert algae algebra alibi align alive alkali allay
allege allow allude almost aloft alone alpha already also amateur amaze amber ambient amend amiss amoeba amount
ampere amulet amuse anagram anarchy anatomy anchor ancient angle angry animal annex annoy annual anoint anorak
another answer anthem antique antler anvil anybody anyhow anyone anyway aorta apex apiece aplomb apology appeal
apple appoint approve apron arable arcade archaic area argue army aroma arose around arrange arrest arrive arrow
artery artful artist ascend ashen ashore aside askew aspect aspire asset assign assort assume asthma astray
astute asylum attend attic attract auburn audible august aunt author autumn avenge average avoid avow awake
award away awful awkward awoken axiom azalea azure baboon baby back bacon badge baffle baggage bakery balance
ball balmy banal band banjo bargain barley barman baroque barrel base basic basket battery bayou bazaar beagle
bear beauty beaver became bedlam bedroom been beeper beetle befall befit before began behead behind behold beige
belfry believe belong belt bemoan bemuse bench benefit benign beret berry beside bestow better between beware
beyond bicker bicycle bigger bike billow binary bingo biology bird birth biscuit bishop bison bitmap bitten
bizarre blame blank blatant bleat blimp blind bliss blitz blouse blow bluff blunt blurb board boat bobbin bobcat
body boggle bonnet book boost bootee bore borrow boss botany botch bottle bound bovine boxcar boyish bracket
brain branch brass brave brawny brazen break breeze brick bridge brief bright brim broil broke bronco brood
brought brown brush brutal bubble bucket buddy budget buffet buggy bugle build bulk bumpy bundle burden bureau
burger burlap burr burst bushel bustle busy buzz bygone bypass byte byway cabbage cabinet cacao cacti caddie
cagey cajole calico came canary candid canine canoe capable capital captain carbon card careful cargo carpet
carry cartoon carve cashew casino cask castle casual catch catnap caught caution caveat caviar cease cedar
celery cell cement censor cent cereal certain chafe chain chalk chamber chance chaotic chapter charge chasm chat
cheap check cheer chemist cherry chess chew chicken chief child chip chisel choice choosy choppy chord chose
chrome chubby chum chunk cider cigar cinema cipher circle citizen city civil claim clammy clarify class clause
claw clean cleft clench clerk clever click client cliff climate clinic clique cloak clog closet cloth cloudy
cloven club clumsy clung cluster clutch coal cobalt cobble cobra cobweb cocoa code coerce cogent collect colon
column combine comedy comfort comic common company concept confirm congest connect consist contact convert
cookie copper copy cordon corn correct cortex cost cotton cougar could count couple course cousin covet cowboy
coyote crabby crack cradle craft craggy cranky crash crawl create credit creep crest crib cricket crisp critic
crony cross crowd crucial crumb crunch crusty crux cryptic crystal cubic cuckoo cuddle cupful cure curfew curio
current curtsy custom cutlet cycle cymbal cynic dabble daddy dainty daisy damage dampen damsel dance danger
dapper data datum daub dawdle daytime daze dazzle deacon deal debt debug decade decent decimal declare decoy
deduce deem default defeat define defy degree delay delete deliver delude delve demand demure denim dense
dentist depart depend depict deposit depth deputy derange descend desert design desk despite destroy detail
detect detract develop devote diagram dialect diary dictate differ digit dignity dilate dilemma dimmer dimple
dinner disable disc dislike disown display disrupt distant ditch ditto divert divide divorce doctor dodge dogma
dollar domain donate done donkey doodle door dorsal doubt douse downy dozen dragon drape drastic draw dream
dredge drench drift drill drink drive drool drop duck duff dugout dump duplex dusky dustbin duty duvet dwell
dynamic each eager earth east eaten ebony ecology economy eddy edge edible edit educate eerie effigy effort
eight either elapse elbow elder elect elegant element eleven elicit elite else email embark emblem embody embryo
eminent emir empire employ empty emulate enable encase enclose encode endive endless endow energy enforce engage
engine engulf enhance enigma enjoy enlarge enlist enough enrich ensure enter entire entrap envy enzyme episode
epoch equal equip erode errand error escape essence estate esteem eternal ethic eureka evade event evict evident
evoke evolve exact examine except excite exclude excuse exert exhaust exhibit exhort exile exist exotic expand
expect expiry expose express extant extend extol extra exude exult eyelid fabric face facial factor faculty fail
fairy faith falcon fallen false fancy fantasy fashion fasten faucet fault fauna feature federal feeble feel
feint feline fern ferret fetch feud fibber fickle fiction fidget field fierce fiesta fifty figure filch fillet
filmy filter final find finger finish fire first fiscal fish fitful fizzy flag flake flash fleck fleet flew
flight flimsy flinch float floor floppy floral floss flown fluent fluffy fluid flurry flute flux foamy fodder
foggy foible folk follow food forbid force foreign forget form forth forward fossil foster foxy foyer fragile
frame frank fray freedom fresh friar friend frisky frock frog frolic front frosty froze frugal fruit full fume
funny furrow further fusion fuss futile future gadget gaiety gain galaxy gallon galore gambit gamma gamut
garbage garden gargle garish garlic garnet gateway gather gaudy gauge gave gawk geese gender general genii genre
gentle genuine gerbil gesture geyser ghost giant giddy gift giggle girder girl given glad glance glare gleam
global gloom glossy glue gnash gnat gnome goalie goatee goblet golden golf gong goody gopher gosh gossip govern
grab gradual grammar grand graph grassy gravity graze great grew grid grille gritty grocer groggy groove grotto
group growth grubby grudge gruel gruff grumpy grunt guard guess guffaw guide guinea guitar gulch gullet guppy
guru gusty gyrate habit haggle hair half hammer handy hanker happy harsh hassle hasty haven havoc hazard hazel
hazy head health hearty heavy heckle hectic hefty heifer helium helmet help hence herald here herself heyday
hiccup hidden hide high hill himself hinge hint hipper history hoax hobby hobnob hockey hold holiday holler
homage home honesty honk hoof hooray hopeful horizon hostile hotel hotter however hubbub huffy huge human humble
humid hungry hurdle hurl hurry husband husk hutch hybrid hyena hymn hyphen idol ignore iguana illegal image
immense immune impact impend impish impose improve impulse inborn inch incline income incur index indoor induce
inertia infant info infuse ingest inhabit inherit initial inject inlay inlet innate input inside insofar inspect
install insult intact intend invent invite involve inward iodine iota irate iron isolate issue item itself ivory
jabber jackal jaguar jalopy jamb jargon jaunty jazz jersey jetty jibe jiffy jigsaw jogger join joke jolt jostle
journal jovial joyful judge juice jumbo jungle junior junk juror jury just karat kayak keep kernel keyword khaki
kiln kimono kindle kingdom kiosk kiss kitchen kiwi knead kneel knew knight knit knob knock knoll knotty known
koala kosher kowtow label ladder laden lagoon lambda lamp larynx laser late latter laugh laurel lava lavish
lawyer laxity layman layout leaf league leaky leave lecture leeway legal legend legible leisure lemon lend
length lenient lentil less letup levity liable liaison library lichen life liken lilac limb limit linear link
liquid list litany literal little livid lizard llama loan local lock locust logic loiter loop loose lorry loud
lounge love lucky luggage lumber lunch lupine lurk luxury lyre lyric machine madam madcap madden made madman
magic magnet mailbox major mama manage mandate mango mankind manner many march margin marital mark mass matrix
matte mauve maximum maybe meant measure media meet melody member memory mention menu mercy merge merit mesh
messy metal method metro middle midst mighty migrate mile milky million mimic minimal minor minute miracle
mirror mislead mistake misuse mixture mobile model modify module moment monarch money monitor month moot moral
motion motor mousy movie much multi mummy mundane muscle museum music mute mutual myself mystic nasal native
natty nature nearby neck needle negate network neural never newsy next nice ninth noble nobody noisy nomad
nominal normal notable note notice noun nova novel nowhere numb numeral nurse nylon obey object oblige observe
obtain occur offhand office offset often okra omega omit oneself onion onto ooze open operate opinion oppose
optical orange orbit order origin other ought ounce outcry outdo outline output outside overall oxide oxygen
ozone packet pagan page paid palace palm panda panel paradox pardon parent parity parka parody parrot part
passage pasta patient pattern payment peace peak peanut pecan pedal peer penalty pencil penguin penny people
percent perfect peril perky permit person petrol phase phoenix phone photo physic piano pick picture pigeon pipe
pique pitfall pithy pivot pixie pizza plain planet plastic play plaza please plenty plot plug plumb plural poem
poetic point polar police pool poppy popular pork portion possess postal posy potato poverty power prawn preach
precede predict preen prefix premium prepare press pretty prevent price primary prior private problem process
produce profit program project prolong prompt pronoun proof propose protest proud prove prow proxy prune pseudo
psych public pulp pulse puma puny pupil purple pursue push putt puzzle python quake qualify quantum quart quay
quell query quest queue quibble quick quit quote rabbit radar radio railway rainbow rampant random rang rattle
rayon razor reactor ready reality reason rebel recall receive recipe reckon reclaim record recruit rectify recur
recycle redid redo refer reflect reform refrain refuse regard region regular reign reject relax release remain
remedy remit remote rename renew repair repeat replace report request reread rescue reserve resist resolve
respect restart result retry return review revolt revue rewrite rhino rhyme rhythm ribbon rigid risen risk
ritual roach road roast robin robot robust rocket role romance room rotate route royal rubber ruby rude rural
safe saga salary salt sample sanity sarcasm sassy satisfy sauce savvy scale scan scatter scene scheme school
science scoop score scotch scowl scrap script scroll scuff search second secret section secular sedan seedy seek
segment seldom self senior sequel serial sermon serum serve session settle severe sewn shadow shaky shall shape
sheaf sheet shelve shift shiny shire shock shop short should shown shrub shut siege sigma sign silent silicon
silver similar since single sister situate sixth size skate skein sketch skid skill skirt skulk slab slang sleep
slime slip slogan slope slosh smart smash smooth smug snack snail snap sneaky sniff snow soak soapy social soft
soil solid solve somehow sonic soon sooty source south spare spatial special speech spell spend sphere spicy
spigot spirit split spoke sponsor spray spread sprig sprung spur square squeeze squid staff stage stamp stand
station stay steal steer step stereo stick stir stomach stone story strange stream strict strong stub study
stunt style suave subject submit subset subtle subway success sudden suede sugar suggest summer sundry sunup
superb support supreme surface surgery surname survey sustain swallow swam swept swipe swirl swish switch swung
symbol symptom synonym syntax syrup system taboo tacit tackle taco tactic tailor take talent tangent target
taste tawny taxi teapot teenage teeth temper tenor tension tepee tepid textual than theory thereby these theta
they think third thorn though throw thud thumb tiara ticket tidy tiff tiger tilt time timid tinny title today
toga token toll tomato tongue tonight tooth topaz topic torso total totem touch tourist tout toward town trace
traffic transit trap travel treaty tree trend trial tribe tricky trifle trigger trilogy trinity trio triumph
trivial trolley troop trouble truck trumpet trust tulip tune tunic tunnel turf tutor twang tweak twelve twenty
twice twig twist type typical ultra unaware unclear uncut under undid undo uneasy unfair uniform unique unite
unknown unless unlike unload unlucky unread unset unsound until untrue unusual update upgrade upon upper upright
upside upward urban urgent usable useful useless usher usual utility utter vacancy vacuum valid valley value
vane vanish variety vector vehicle vein vendor venture venue verbal verdict verify version very vessel veto
vicar video view vigil village vintage vinyl viper virtue visa visit visor visual vital vogue voice voltage
volume vowel wagon wait walk wallet waltz wash wealthy weather weekend weird welcome welfare western wharf wheat
wheel when which whiff while whistle whoop widen width wild window wine winter wiry wisdom wisp within witty
woman wonder wooden word worthy woven wrapper write wrong yacht yawn yearn yellow young yowl zebra zero zeta
`.trim().split(/\s+/);
