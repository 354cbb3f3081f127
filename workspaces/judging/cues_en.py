"""English cues. They describe speech acts and grammar, never a subject matter."""

from workspaces.judging.cues import Cues, compiled, words

_MONTH = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*\.?"
_DATE = (
    rf"\b\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}\b|\b{_MONTH} \d{{1,4}}\b|\b\d{{4}}-\d\d"
    r"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\b\d{1,2}[:.]\d\d\b|\b\d{1,2} ?[ap]\.?m\b"
    r"|\bin (?:19|20)\d\d\b|\b(?:q[1-4]|easter|christmas|new year)\b"
)
_LATER = (
    r"\b(?:tomorrow|tonight|yesterday|last (?:night|week|month|year|summer|winter|spring|fall)"
    r"|next (?:week|month|year)|(?:days?|weeks?|months?|years?) ago|this morning)\b"
)
_NUMBER_WORDS = words(
    "two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty "
    "hundred thousand million half twice daily weekly monthly yearly nightly hourly quarterly"
)
_COMMANDS = words(
    "check show tell give run deploy restart open find look send write create make help remind "
    "list explain summarise summarize search start stop delete update fix add remove compare "
    "translate draft review try let put set get take read print build test install rerun retry "
    "wait hold ping call describe generate prepare book schedule order cancel rename move copy "
    "upload download merge revert rollback enable disable verify confirm analyse analyze refactor "
    "clean see have keep_me bring hurry calm imagine guess note_down"
)
_FEELINGS = words(
    "tired fine good ok okay happy sorry glad sure back here there ready done busy excited "
    "swamped sad late hungry proud curious bored stuck confused grateful lucky thrilled stoked "
    "well great hopeful nervous relieved thankful starving sleepy exhausted"
)
_PRAISE = words(
    "great awesome amazing nice cool lovely wonderful perfect brilliant excellent fantastic "
    "beautiful sweet funny interesting terrible awful horrible bad good crazy wild impressive "
    "inspiring neat fun delicious boring annoying weird strange hilarious gorgeous powerful"
)
_TENTATIVE = r"try|look|see|check|think|consider|let you know|get back|keep|watch|explore|play"
_BOT_DID = words(
    "ran sent wrote built set made did put shut took began rebuilt reran saw found got read brought "
    "gave left kept held drew chose cut rewrote undid swapped forwarded backed rolled"
)
# What somebody did; not what they felt, thought or wished.
_DID = words(
    "made built took wrote drew painted designed knitted sewed baked cooked planted ran swam hiked "
    "climbed rode drove flew taught learned passed failed founded organised organized hosted gave "
    "led coached performed published recorded donated volunteered raised read finished"
)
# An event of one's own on a day that is named is more than a wish.
_ARRANGING = (
    r"(?:i|we)(?:'m|'re| am| are) (?:having an?|hosting|holding|organi[sz]ing|putting together|giving an?"
    r"|getting married|moving|opening|launching|performing|starting (?:an?|at|my))"
)
_SET_DAY = rf"{_DATE}|\bnext (?:week|month|year|spring|summer|autumn|fall|winter)\b"

ENGLISH = Cues(
    opening=compiled(
        r"^(?:(?:hi|hey+|hello|yo|good (?:morning|afternoon|evening|day|night)|morning|greetings|welcome back"
        r"|well|so|ok(?:ay)?|oh|ah|aw+|hm+|um+|uh|wow|w(?:h?oa|oa)h?|yay|omg|gosh|yeah|yes|yep|no|nope|sure|right|thanks|thank you|btw"
        r"|by the way|anyway|also|and|but|great|cool|nice|fyi|actually|alright|(?:just )?(?:a )?(?:quick )?heads[- ]?up|quick (?:note|update))\b"
        r"(?: (?:there|again|all|everyone|team|mel|folks|guys|so much|a lot))?[\s,!.:;–—-]*)+"
    ),
    laughter=compiled(r"\b(?:lol|lmao|rofl|ha(?:ha)+|hehe)\b|[😀-🙏🤣]"),
    question=compiled(
        r"\?\s*[\"')\]]*$|^(?:who|what|when|where|which|why|how|whose|whom)(?:'s|'re)?\s+(?:is|are|was|were|do|does"
        r"|did|can|could|should|would|will|has|have|about|many|much|long|often|old|come|the)\b"
        r"|^(?:do|does|did|is|are|was|were|can|could|would|will|have|has|shall|should|am) "
        r"(?:you|we|i|they|he|she|it|there|the|this|that|any|my|our)\b[^.]*$"
        r"|^(?:tell me|show me|remind me|explain|list|recall)\b.*\b(?:about|what|which|who|when|where|how|everything|all)\b"
        r"|\b(?:i wonder|i was wondering|i'd like to know|any idea|do you know|do you remember)\b"
    ),
    thanks=compiled(
        r"\b(?:thanks|thank you|thx|cheers|much appreciated|appreciate (?:it|that|your))\b"
    ),
    acknowledgement=compiled(
        r"^(?:ok(?:ay)?|got it|noted|understood|sure(?: thing)?|done|will do|right|yes|no|yep|nope|agreed|exactly|perfect"
        r"|great|sounds good|makes sense|of course|no problem|you're welcome|fair enough|all right|alright|absolutely"
        r"|definitely|indeed|true|i see|never mind|my pleasure|glad to help|certainly|copy that|roger)\b"
    ),
    small_talk=compiled(
        r"\b(?:good (?:morning|night|evening|afternoon)|how are you|how's it going|see you|bye|goodbye|good luck|have a (?:good|great|nice)"
        r"|take care|nice to (?:see|meet|hear)|good to (?:see|hear)|great to (?:see|hear)|enjoy (?:your|the)|welcome back"
        r"|congrat\w*|happy (?:birthday|friday|monday|new year|holidays)|talk (?:soon|later)|well done|good (?:job|work)|great (?:job|work)"
        r"|(?:it's|it is|been) (?:raining|snowing|sunny|hot|cold|freezing|friday|monday)|(?:the|this|such) (?:weather|traffic|rain|heat)"
        r"|coffee (?:time|first)|(?:that's|that is) (?:it|all) (?:for|from)|gotta (?:go|run)|back to work|fingers crossed|no worries"
        r"|you (?:are|'re) (?:right|a star|the best|welcome|awesome|amazing|great|funny|so)|proud of you|sorry (?:about|for|to)|kind words|means? (?:a lot|so much|the world)|(?:totally|completely|absolutely|100%|couldn't|can't|don't) agree|(?:so |really |super )?glad (?:you|to|that you|your)|here for you|time flies|(?:make|makes|made) it (?:all )?worth (?:it|while)|we got this"
        r"|(?:grateful|thankful|lucky) (?:for|to have) (?:you|your|the|all|such|everyone|this|it))\b"
        r"|^(?:that|this|it|those|these|sounds|looks|what an?|how|such an?)(?:'s| is| was| are| were)?\s?(?:so |really |very |just |pretty |a |an |not )*"
        rf"(?:{_PRAISE}|like)\b[^:]{{0,60}}$|^we can (?:do|make|tackle|handle|face|get)\b|^we all (?:have|need|deserve|want) (?:our|to|some|a)\b"
    ),
    plan=compiled(
        rf"\b(?:i|we)(?:'ll| will| shall)(?: also| then| probably| just| definitely)? (?!never|not be|always|only)(?:{_TENTATIVE})\b"
        r"|\b(?:i|we)(?:'m|'re| am| are| was| were)(?: also| just| really| still| currently)? (?:going to (?!the |a |an |my |our |his |her )|gonna|planning|thinking|hoping|about to|considering|trying to"
        r"|looking forward|wondering|tempted|looking to|aiming)"
        r"|\b(?:i|we) (?:(?:really|also|just|still|kind of|do|currently) )*(?:plan(?! [a-z]+ (?:is|was)\b)|(?:want|need|hope|wish|intend|mean|aim|got|have) to\b"
        r"|hope|might|may|could|should|would|guess|suppose|suspect|wonder|feel like|can try|think (?:i|we|about|of|that we|maybe|it))"
        r"|\b(?:i|we)'d (?:love|like|rather|better|prefer to)\b|^(?:gonna|wanna|gotta|planning|hoping|thinking|trying) "
        r"|\b(?:i|we)'ll do (?:my|our) best\b|\blet's\b|\blet us\b|\blet me\b|\b(?:some ?day|one day|eventually|at some point|sooner or later)\b|\bmy (?:plan|goal|hope|dream|idea|intention) is\b"
        r"|\b(?:can't wait|keen to|on my to-?do|if there is time|if i (?:find|get|have) (?:the )?time)\b"
    ),
    hypothetical=compiled(
        r"\b(?:maybe|perhaps|possibly|presumably|probably not|who knows|what if|suppose that|supposing|imagine|might be|could be|may be"
        r"|it would be|would be (?:nice|great|good|cool|better|possible)|would have|wish (?:we|i|it|they)|in theory|not sure (?:if|whether|what|how))\b"
        r"|^if (?:i|we|you|they|only)\b.*\b(?:could|would|might|may|were)\b"
    ),
    request=compiled(
        rf"^(?:please|pls|kindly)\b|\bplease[.!]?$|^(?:(?:now|then|and|just|go ahead and|could you|can you) )*(?:{_COMMANDS})\b"
        r"(?! (?:of|on|is|was|were|are|has|had|have|\d|finished|passed|failed|completed|succeeded|results?|suite)\b)(?:\s|$)"
    ),
    remember=compiled(
        r"^(?:please |pls )?(?:remember|note|keep in mind|bear in mind|be aware|for the record|fyi|for your information|don't forget)"
        r"(?: that| this)?\b[\s:,–—-]*(?!to\b|the time\b)"
    ),
    decided=compiled(
        r"\b(?:decided|decision (?:is|was)|agreed|approved|settled (?:on|that)|resolved (?:to|that)|scheduled (?:for|on|to)|postponed|rescheduled|brought forward"
        r"|moved (?:to|from)|will (?:move|start|end|launch|take place|be held|begin|open|close|go live|happen|replace|retire) (?:\w+ ){0,4}(?:on|at|from|in|by|to)"
        r"|(?:is|are) due (?:on|by)|effective (?:from|on|as of)|as of|from now on|no longer|not any ?more|we (?:chose|picked|went with|settled))\b"
    ),
    arranged=compiled(rf"\b{_ARRANGING}\b(?=.*(?:{_SET_DAY}))|(?:{_SET_DAY}),? {_ARRANGING}\b"),
    undecided=compiled(
        r"\b(?:not (?:yet )?(?:decided|agreed|sure|settled)|undecided|(?:haven't|hasn't|have not|has not|didn't|did not|never|yet to) (?:yet )?(?:decided?|agreed?|settled?)"
        r"|before we decide|until we decide|to be decided|tbd)\b"
    ),
    standing=compiled(
        r"^(?:if|when|whenever|before|after|unless) [^,]+, |\b(?:(?<!not )always|never|every|each(?! other)|must|only|by default|from now on|no one|nobody|policy|rule|not allowed|forbidden|required|requires?|at most|at least"
        r"|in charge of|responsible for|deadline|convention)\b"
    ),
    preference=compiled(
        r"\b(?:i|we|he|she|they|(?-i:(?!Looks?\b|Sounds?\b|Feels?\b|Seems?\b|Just\b|Reminds?\b)[A-Z]\w+)) (?:really |much |also |absolutely |don't |do not |doesn't |can't )*(?:prefers?|likes?|loves?|hates?|dislikes?|enjoys?|favou?rs?|stand|eats?|drinks?|drive)\b"
        r"|\b(?:my|our|his|her) (?:\w+ )?favou?rite\b|\ballergic\b|\b(?:rather than|instead of) \w|\b(?:vegetarian|vegan)\b|\b(?:fans? of|passionate about|obsessed with|crazy about|fond of|keen on) \w|\bfrom now on\b|^(?:please )?always\b|\bmy (?:main )?(?:hobby|hobbies|passion)\b|\bi (?:want|need|expect) (?:all|the|every|my|our|short|answers|replies|reports|only)\b"
    ),
    kin=compiled(
        r"\b(?:my|our|his|her) (?:late |older |younger |elder |little |big |best |ex-?|two |three |only )*(?:wife|husband|partner|fianc[eé]e?|girlfriend|boyfriend|sons?|daughters?"
        r"|brothers?|sisters?|mothers?|fathers?|mom|mum|dad|parents|grand(?:ma|pa|mother|father|parents|son|daughter)|aunt|uncle|cousins?|nieces?|nephews?|in-laws|roommate|landlord)\b"
    ),
    first_person=compiled(
        r"(?:^|[,;] |\band |\b(?:yesterday|today|recently|last \w+|next \w+|in \d{4}),? )(?:i|we|my|our|mine)(?:'m|'ve|'d|'re)?\b"
        r"|^(?:seeing|watching|hearing|meeting|having|getting|losing) (?:my|our)\b"
    ),
    named_subject=compiled(
        r"^(?!I\b|It\b|This\b|That\b|There\b|He\b|She\b|They\b|What\b|Who\b|Which\b|Here\b|Nothing\b|Everything\b|Something\b)[A-Z][\w'-]+ (?:(?:also|now|still|usually) )?(?:is (?:our|the|an?|on|in|from|at|responsible|allergic|based)|has|(?:lead|own|work|live|maintain|manage|run|use|want|prefer|keep|speak|teach|write|handle|stud)(?:s|ies)|joined|left|moved)\b"
        r"|^(?!I\b|It\b|This\b|That\b|He\b|She\b|What\b|Who\b)[A-Z][a-z]+ [a-z]+s (?:all|every|each|its|the|an?|our|to|from|on|at|in|with)\b"
        r"|^(?!I\b)[A-Z][\w.&'-]+ [A-Z\d][\w.&'-]*|(?<=[a-z\d,;:] )(?!I\b)[A-Z][\w.-]+|\b[A-Z][a-z]+[A-Z]\w+"
        r"|\b[a-z]+(?:-[a-z\d]+)*-\d+\b|`[^`]+`|\"[^\"]+\"|“[^”]+”",
        flags=0,
    ),
    definite_subject=compiled(
        r"^(?:yesterday |today |in \w+ )?(?:the|our|my|his|her|their|all|any|every|each|both|no|nobody|everyone|version|a|an) \w+"
    ),
    pointing_subject=compiled(
        r"^(?:that|this|it|they|these|those|there|you|your|he|she|sounds|looks|seems|feels|such|what|how)(?:'s|'re|'ll|'d|'ve)?\b"
    ),
    attribute=compiled(
        r"\b(?:is|are|was|were) (?:called|named|located|written|owned|stored|served|kept|maintained|based|born|built|managed|hosted|deployed|at|in|on|from)\b"
        r"|\b(?:lives?|works?|runs?|uses?|owns?|costs?|stores?|listens?|supports?|keeps?|reads?|writes?|sends?|returns?|starts?|ends?|expires?|contains?"
        r"|belongs?|maintains?|leads?|manages?|studied|graduated|born|married|joined|left|signed|finished|completed|succeeded|caused|upgraded|migrated|replaced"
        r"|fixed|fixes|went|moved|bought|visited|got|met|adopted|started|won|lost|became|changed|because|merged|replaced|adopted|born|opened|closed|broke|launched|hired|finish)\b|\b(?:has|have) \w+(?:ed|en)\b"
        rf"|\b(?:i|we) (?:(?:just|also|finally|recently|already|even|once) )*(?:{_DID})\b"
    ),
    dated=compiled(rf"{_DATE}|{_LATER}"),
    counted=compiled(
        rf"\d|\b(?:{_NUMBER_WORDS})\b|(?<!\w)[#@/~][\w./-]{{3,}}|\b[\w-]+\.(?:internal|com|org|net|io|dev|local|ya?ml|json|py|md|csv|example)\b|[$€£¥%]"
    ),
    feeling=compiled(
        rf"\b(?:i|we)(?:'m| am|'re| are| feel| felt| was| were) (?:so |really |very |just |all |pretty |still |doing |a bit |kind of )*(?:{_FEELINGS})\b"
        rf"|\b(?:was|were|is|are|it's|be) (?:so |really |very |just |pretty |quite )*(?:{_PRAISE})\b|^(?:{_PRAISE}) |\bexcellent\b"
    ),
    passing=compiled(
        r"\b(?:just now|(?<!not )just(?! (?:\w+ed|got|left|went|came|bought|won|did|met|had|began|became))|right now|in a (?:minute|moment|second)|at least|of course|too bad|brb|today was|this time|quick one|hang on|one sec|a lot of work)\b"
    ),
    execution=compiled(
        rf"\b(?:i|we)(?:'ve| have)?(?: (?:just|already|now|also|successfully|then|therefore|gone ahead and))* (?:been )?(?:\w{{2,}}ed|{_BOT_DID})\b"
        r"|\b(?:has|have) been \w+(?:ed|en|t)\b|\b(?:is|are) now \w+ed\b|^(?:done|finished|completed|deployed|fixed|updated|sent)\b"
        r"|\b(?:deployment|restart|backup|migration|rollback|update|upgrade|install\w*|build|test run) (?:is |was |has )?(?:done|complete[d]?|finished|succeeded|successful)\b"
        r"|\b(?:i|we)(?:'ll| will|'m going to| am going to)\b"
        r"|\b(?:successfully) \w+ed\b|\b(?:is|are) (?:complete|finished)\b"
    ),
    no_claim=compiled(
        r"\b(?:i|we)(?:'ve| have)? (?:\w+ )?(?:noted|understood|remembered|mentioned|wanted|liked|loved|enjoyed|recommended|suggested|discussed|agreed|noticed"
        r"|apologi[sz]ed|meant|recalled|assumed|believed|learned|needed|failed|decided|lived|worked|studied|wondered|tried)\b"
    ),
    recalled=compiled(
        r"\b(?:from|according to|in|per|based on) (?:my |the |our )?(?:memory|memories|notes|records|earlier conversations?)\b|\bas (?:you|we) (?:said|mentioned|told|noted|discussed)\b"
        r"|\b(?:i|we) (?:remember|recall|have nothing|don't have anything|have no (?:record|memory|note))\b|\byou (?:told|mentioned|said|asked|noted)\b|\bmemory (?:says|shows|has|contains)\b"
    ),
    advice=compiled(
        r"\byou (?:can|could|may|might|should|need|want|will want|must)\b|\b(?:it's|it is) (?:best|good|better|common|recommended|worth|advisable|important)\b"
        r"|\b(?:i|we) (?:recommend|suggest|would|can|could|advise)\b|^(?:consider|try|make sure|ensure|remember to|start by|use|avoid)\b|\b(?:typically|usually|generally|in general|commonly|often)\b"
        r"|\b(?:let me know|feel free|would you like|happy to|here(?:'s| is| are)|for example|such as)\b"
    ),
)
