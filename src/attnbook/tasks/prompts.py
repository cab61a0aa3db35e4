"""Texts for looking into a language model: plain sentences, one word with two senses, who gives to whom, and capitals.

>>> plain(0)[0]
'The bus was late again this morning, so we walked to school in the rain.'
>>> gave_to(0)[0]
Gave(text='When Mary and Anna went to the store, Anna gave a drink to', right=' Mary', giver=' Anna')
>>> river, money = two_senses("bank")
>>> river[1], len(money)
('The boat drifted towards the muddy bank', 12)

All of them were written for this book.
"""

from typing import NamedTuple

CAPITALS = {  # cities of which the first token says which is meant
    "France": "Paris",
    "Germany": "Berlin",
    "Italy": "Rome",
    "Spain": "Madrid",
    "Japan": "Tokyo",
    "China": "Beijing",
    "Russia": "Moscow",
    "Egypt": "Cairo",
    "Greece": "Athens",
    "Poland": "Warsaw",
    "Austria": "Vienna",
    "Hungary": "Budapest",
    "Ireland": "Dublin",
    "Norway": "Oslo",
    "Sweden": "Stockholm",
    "Denmark": "Copenhagen",
    "Finland": "Helsinki",
    "Portugal": "Lisbon",
    "Cuba": "Havana",
    "Peru": "Lima",
    "Chile": "Santiago",
    "Kenya": "Nairobi",
    "Iraq": "Baghdad",
    "Iran": "Tehran",
    "Syria": "Damascus",
    "Thailand": "Bangkok",
    "Turkey": "Ankara",
    "Canada": "Ottawa",
    "Australia": "Canberra",
    "Brazil": "Brasilia",
}
CAPITAL_OF = [  # each stops before the city; the first is the chapter's
    "The capital of {} is the city of",
    "The capital city of {} is called",
    "What is the capital of {}? It is",
    "In {}, the government sits in the city of",
    "Travellers who come to {} mostly see its capital,",
    "The parliament of {} meets in",
    "As everybody knows, the capital of {} is",
]
PEOPLE = [
    "Mary",
    "John",
    "Tom",
    "Anna",
    "James",
    "Sarah",
    "Peter",
    "Alice",
    "Paul",
    "Emma",
    "David",
    "Lucy",
    "Mark",
    "Jane",
    "Daniel",
    "Laura",
]
PLACES = ["store", "park", "school", "station", "library", "market", "beach", "garden"]
THINGS = ["drink", "book", "ring", "letter", "map", "gift", "key", "ball"]
GIVING = [
    "When {0} and {1} went to the {place}, {giver} gave a {thing} to",
    "Then {0} and {1} had a long talk at the {place}, and {giver} handed a {thing} to",
    "After {0} and {1} left the {place}, {giver} sold a {thing} to",
    "While {0} and {1} were at the {place}, {giver} passed a {thing} to",
]


class Gave(NamedTuple):
    """A text that stops before a name, the name that is right, and that of the giver, who is not meant."""

    text: str
    right: str
    giver: str


def gave_to(draw: int, pairs: int = 8, template: int = 0) -> list[Gave]:
    """Texts of one length in tokens, each pair of people in both orders; another draw pairs other people."""
    found = []
    for i in range(pairs):
        first = 2 * i + 2 * template + 5 * draw
        one, other = PEOPLE[first % 16], PEOPLE[(first + 1 + 2 * (i % 3 == 0)) % 16]
        place, thing = PLACES[(i + template) % 8], THINGS[(i + 2 * template) % 8]
        for names in ((one, other), (other, one)):
            text = GIVING[template].format(*names, place=place, giver=other, thing=thing)
            found.append(Gave(text, f" {one}", f" {other}"))
    return found


def plain(sample: int) -> list[str]:
    """One of two samples of sixty sentences, of all kinds and of no kind in particular."""
    return [*_PLAIN[sample].split("\n")]


def two_senses(word: str) -> tuple[list[str], list[str]]:
    """Sentences that end with a word, in its one sense and in its other: bank, bat or spring."""
    one, other = (sense.strip().split("\n") for sense in _SENSES[word])
    return one, other


_PLAIN = (
    """The bus was late again this morning, so we walked to school in the rain.
My sister keeps her old letters in a blue box under the bed.
Scientists found a small fossil near the river last summer.
He opened the window because the kitchen was full of smoke.
The library closes at six on weekdays and at noon on Saturdays.
When the film ended, nobody in the room said a word.
You can leave your coat on the chair beside the door.
The farmer sold his last two cows before the winter came.
A good knife is worth more than a drawer full of bad ones.
They painted the fence white, but the neighbours preferred green.
The doctor asked her whether the pain had started suddenly.
In spring the valley fills with birds that have flown from Africa.
I forgot my keys at the office and had to call a friend.
The new bridge will carry both trains and cars across the bay.
Please read the instructions carefully before you switch the machine on.
Our dog sleeps all day and barks at the moon all night.
The teacher wrote a long number on the board and smiled.
Most of the money went to repairs that nobody had planned.
She learned to play the violin when she was seven years old.
The train from the north arrived with snow on its roof.
Water boils at a lower temperature on top of a mountain.
Her grandfather built the house with his own hands in the fifties.
We need more bread, a little cheese and some apples for tomorrow.
The company said it would open three new shops next year.
A cat sat on the warm wall and watched the cars go by.
After the storm the streets were covered with leaves and broken glass.
He speaks four languages, although he has never left the country.
The children built a castle of sand and a moat around it.
It is easier to ask for help than to do everything alone.
The museum has a room where visitors may touch the objects.
Prices rose by nearly five percent during the first half of the year.
The old man told the same story every time we met him.
Nobody knew who had left the flowers on the steps.
She put the phone down and looked out at the sea.
The recipe calls for two eggs, but one large egg is enough.
If the weather holds, we will climb to the lake on Sunday.
The judge listened to both sides and asked for more time.
Bees find their way home by the position of the sun.
His first book sold badly, yet the second made him famous.
The lamp in the hall flickers whenever a truck passes.
Most planets in the list are larger than the Earth.
The baker gets up at three so that the bread is ready at six.
They moved to the city to look for work and better schools.
A thin layer of ice covered the lake from shore to shore.
The player missed the penalty, and the crowd fell silent.
Do not store the paint where it might freeze.
My uncle repairs clocks in a workshop behind the station.
The committee will meet again on Thursday to discuss the plan.
The soup tasted better on the second day than on the first.
Some plants close their leaves when you touch them.
The letter was written in ink that had faded to brown.
We saw a fox cross the garden just before sunrise.
The pilot announced that the flight would land ten minutes early.
Her answer was short, polite and completely wrong.
The village has one shop, one church and two bakeries.
He counted the coins twice and still came up short.
The river floods every few years and leaves rich soil behind.
The engineer found the fault in a cable no thicker than a hair.
Tourists come for the beaches, but they return for the food.
She asked him to speak slowly because the line was bad.""",
    """The gardener cut the hedge into the shape of a ship.
Last night the power went out for almost two hours.
My neighbour grows tomatoes on a balcony no wider than a door.
The students asked so many questions that the lecture ran late.
An old map showed a road that is no longer there.
She saved half of her pay and spent the rest on books.
The ferry leaves from the second pier at a quarter past nine.
He had never seen so many stars in one sky.
The report was published in March and forgotten by May.
The boy carried the basket carefully down the narrow stairs.
Cold air sinks, and warm air rises above it.
The hotel offers breakfast from seven until half past ten.
Because the road was closed, the driver took a longer way.
They named the puppy after a character in a film.
A single candle stood in the middle of the table.
The mayor promised to plant a thousand trees before the election.
The violin had been in the family for three generations.
You should wash the rice until the water runs clear.
Whales can hear each other across hundreds of miles of ocean.
The carpenter measured the shelf again and shook his head.
The editor removed two paragraphs and added a better title.
It rained for nine days, and on the tenth the sun came out.
The nurse spoke softly so that the child would not wake.
The factory makes small motors for toys and kitchen machines.
Her bicycle was stolen from the yard in broad daylight.
The mountain looked close, but it took them all day to reach it.
Few people remember who finished second in that race.
The shop assistant wrapped the glass in three sheets of paper.
In the end the two brothers agreed to share the land.
The computer was slow, so he wrote the list by hand.
A heavy door separated the kitchen from the dining room.
The actor forgot his line and made up a better one.
The potatoes should be planted when the soil is no longer cold.
She waited at the corner until the last bus had gone.
The experiment failed twice before anyone noticed the cracked tube.
His shoes were too small, and he limped all the way home.
The team won every match it played at home this season.
The author lives on an island that can be reached only by boat.
Dust had settled on the piano, and two of its keys were broken.
The clerk stamped the form without looking at it.
We sat by the fire and talked about the years before the war.
The price of coffee depends on the weather in a few countries.
The twins dressed alike but could not agree on anything else.
Many rivers in the region run dry by the end of August.
He bought a ticket to the sea and came back the same day.
The painting hangs in a corridor where few visitors pass.
A young woman in a red hat was selling oranges.
The glass was so clean that a bird flew straight into it.
The bank lowered its rates, and more people bought houses.
Good tools and bad habits last about equally long.
The sailors mended the net while the captain slept.
Every morning the old clock in the square is four minutes slow.
The witness described a tall man with a grey beard.
The cake was still warm when the guests arrived.
A wide street leads from the station to the harbour.
She translated the poem three times and liked none of them.
The chemist mixed the two powders and stepped back.
The tunnel saves an hour, but the pass has the view.
They kept the door locked and the curtains drawn.
The first frost came early and killed the beans.""",
)
_SENSES = {
    "bank": (
        """
He sat down by the river and fished from the bank
The boat drifted towards the muddy bank
Reeds and willows grew along the bank
The flood washed away part of the bank
They swam across the stream to the other bank
The otter slid down into the water from the bank
We tied the canoe to a tree on the bank
Ducks were nesting in the grass on the bank
The ferry was pulled slowly to the far bank
The current carried the log against the bank
Anglers stood knee deep in the river near the bank
The path follows the water along the left bank
        """,
        """
She deposited her salary at the bank
He asked for a loan from the bank
The thieves stole the money from the bank
Her savings earn interest at the bank
They opened an account with the bank
The mortgage was refused by the bank
He cashed the cheque at the bank
The manager counted the notes in the bank
Shareholders sold their stock in the bank
The credit card was issued by the bank
The firm owes two million to the bank
She works as a teller at the bank
        """,
    ),
    "bat": (
        """
At dusk out of the cave flew a bat
Hanging upside down in the barn was a bat
The owl caught a mouse and a bat
Insects are the food of the bat
With leathery wings and sharp ears came a bat
The zoo keeps a fox, a lizard and a bat
In the dark attic we heard a bat
The animal with wings was a bat
        """,
        """
The player hit the ball with a bat
He struck out and threw down the bat
For cricket you need a ball and a bat
The coach handed the boy a wooden bat
She swung hard at the pitch with the bat
The baseball team bought a new bat
The batter stepped up and gripped the bat
He scored a home run with that bat
        """,
    ),
    "spring": (
        """
After the long winter came the spring
The flowers open and the birds return in spring
Farmers sow their wheat in the spring
Snow melts and the days get longer in spring
We will marry in April, in the spring
The semester begins again in the spring
Autumn is dry, but it rains in spring
The tulips bloom in the spring
        """,
        """
The watch stopped because of a broken spring
The metal coil works as a spring
The mattress has a rusty spring
The engineer compressed the steel spring
The valve is closed by a small spring
The force stretches the spring
The toy jumps because of a wound spring
The car bounced on a worn spring
        """,
    ),
}
